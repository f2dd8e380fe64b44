# SPDX-License-Identifier: MIT
"""Leave out one rule, section or fact at a time and count the bytes whose owner changes.

Bytes are those of every block that ever lived, not only of the peak.  What changes no byte, or only those of one
program, is printed last: it should not be there.
"""
import argparse
import csv
import itertools
import json
import pathlib
import re
import sys
import tempfile
from collections import defaultdict

import catalogue
import recorded
import runs
import score
from recording import SOURCE, vtrace

RULES = SOURCE / "analyzer" / "attribution" / "rules" / "rules.ini"
TAG = "/@rule-"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/accuracy/ablation")
    parser.add_argument("case", nargs="*", help="default: all")
    parser.add_argument("--probe", choices=("0", "1", "both"), default="both", help="VTRACE_PROBE of the recordings")
    parser.add_argument("--recordings", metavar="FOLDER", help="keep recordings there, and use those that are there")
    parser.add_argument("--json", metavar="FILE", help="write the same figures there")
    return parser.parse_args(arguments)


class Section:
    def __init__(self, number, text):
        self.number, self.text = number, text
        self.name = re.match(r"\[(.*)\]", text).group(1)
        self.is_rule = self.name.startswith("rule ")
        self.keys = dict(re.findall(r"^(\w+) = (.*)$", text, re.M))

    @property
    def facts(self):
        """What must hold for the rule to fit."""
        return {k for k, v in self.keys.items() if v.strip() != "-" and not k.startswith("not_")} - {
            "owner", "leaf", "known_by", "reason"} if self.is_rule else set()

    def tagged(self):
        """The rule, with its number behind the owner that it gives; caches are looked for by their owner."""
        if not self.is_rule or self.keys["owner"] == "kv cache":
            return self.text
        return re.sub(r"^owner = (.*)$", rf"owner = \1{TAG}{self.number}", self.text, flags=re.M)


def read_sections():
    parts = re.split(r"^(?=\[)", RULES.read_text(), flags=re.M)
    return [Section(i, text) for i, text in enumerate(parts[1:])]


class Recording:
    def __init__(self, entry, probe, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.entry, self.database = entry, folder / "run.db"
        if not self.database.exists():
            runs.record(entry, probe, folder)
        found, truth = recorded.Recorded(self.database), runs.find_truth(entry)
        self.truth = {}
        for device in found.devices():
            self.truth |= recorded.join(found.births(device), truth["devices"][device])

    def owners(self, text):
        """{id: (bytes, owner)} by these rules."""
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "rules.ini", pathlib.Path(folder) / "out"
            path.write_text(text)
            done = vtrace("export", "--format", "csv", "-o", out, "--rules", path, self.database)
            if done.returncode:
                raise runs.Failed(f"{self.entry.name}: {done.stderr}")
            with open(next((out / "allocation").glob("*/data.csv")), encoding="utf-8", newline="") as file:
                return {int(row["event"]): (int(row["size_bytes"]), row["owner"]) for row in csv.DictReader(file)
                        if row["is_owned"] in ("1", "true")}

    def is_right(self, event, owner):
        truth = self.truth.get(event)
        return bool(truth and truth[1]) and score.class_of(owner) == score.class_of(truth[1])


def units_of(sections, deciding):
    """{name: sections to leave out}, of what can matter in a recording where these rules decide."""
    units = {s.name: {s.number} for s in sections if not s.is_rule or s.number in deciding or
             s.keys["owner"] == "kv cache"}
    by_fact = defaultdict(set)
    for section in sections:
        for fact in section.facts:
            by_fact[fact].add(section.number)
    return units | {f"fact {fact}": numbers for fact, numbers in by_fact.items() if numbers & deciding}


def ablate(recording, sections, table):
    base = recording.owners("".join(s.text for s in sections))
    tagged = recording.owners("".join(s.tagged() for s in sections))
    deciding = {int(owner.rpartition(TAG)[2]) for _, owner in tagged.values() if TAG in owner}
    for _, (size, owner) in tagged.items():
        if TAG in owner:
            table[sections[int(owner.rpartition(TAG)[2])].name].decided[recording.entry.name] += size
    for name, without in units_of(sections, deciding).items():
        try:
            got = recording.owners("".join(s.text for s in sections if s.number not in without))
        except runs.Failed:
            continue  # rules need a section that others speak of
        row = table[name]
        for event, (size, owner) in base.items():
            other = got[event][1]
            if score.class_of(other) != score.class_of(owner):
                row.changed[recording.entry.name] += size
                row.gained += size * (recording.is_right(event, owner) - recording.is_right(event, other))


class Row:
    def __init__(self):
        self.decided, self.changed, self.gained = defaultdict(int), defaultdict(int), 0


def families(cases, entries):
    return {entries[name].options.get("family", name) for name in cases}


def main(arguments):
    options = parse(arguments)
    entries, sections = catalogue.read(), read_sections()
    table = defaultdict(Row)
    for section in sections:
        table[section.name]  # rows in the order of the file
    probes = "10" if options.probe == "both" else options.probe
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.recordings or temporary)
        for name, probe in itertools.product(options.case or entries, probes):
            try:
                ablate(Recording(entries[name], probe, folder / f"{name}-{probe}"), sections, table)
            except runs.Failed as error:
                print(f"{name} FAILED {str(error).strip().splitlines()[-1]}", file=sys.stderr)
    rows = sorted(table.items(), key=lambda item: -len(families(item[1].changed, entries)))
    print(f"{'left out':60} {'decides in':>10} {'changes in':>10} {'MiB changed':>12} {'MiB made right':>15}  e.g.")
    for name, row in rows:
        print(f"{name:60} {len(families(row.decided, entries)):10} {len(families(row.changed, entries)):10}"
              f" {sum(row.changed.values()) / (1 << 20):12.1f} {row.gained / (1 << 20):15.1f}"
              f"  {' '.join(sorted(row.changed, key=row.changed.get)[-2:])}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {name: {"decided": row.decided, "changed": row.changed, "gained": row.gained} for name, row in rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
