# SPDX-License-Identifier: MIT
"""Leave out one rule, section or fact at a time and count the bytes whose owner changes.

Bytes are those of every block that ever lived, not only of the peak, in the programs of tests/accuracy and of
tests/frameworks.  What changes no byte, or only those of one program, is printed last: it should not be there.  What
has changed bytes in two families is not left out again (--whole does), so that all programs can be asked.
"""
import argparse
import csv
import functools
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
FRAMEWORKS = SOURCE / "tests" / "frameworks"
ENOUGH = 2  # families in which a rule must matter
TAG = "/@rule-"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/accuracy/ablation")
    parser.add_argument("case", nargs="*", help="default: all")
    parser.add_argument("--probe", choices=("0", "1", "both"), default="both", help="VTRACE_PROBE of the recordings")
    parser.add_argument("--observe", choices=("0", "1"), default="1", help="VTRACE_OBSERVE of the recordings")
    parser.add_argument("--recordings", metavar="FOLDER", help="keep recordings there, and use those that are there")
    parser.add_argument("--also", metavar="FOLDER", type=pathlib.Path,
                        help="recordings of tests/diagnosis/proof --keep, too")
    parser.add_argument("--no-cases", action="store_true", help="only those")
    parser.add_argument("--whole", action="store_true", help="leave out everything in every program")
    parser.add_argument("--decided", action="store_true",
                        help="only which rules decide, in how many programs: leave out nothing (a second a recording)")
    parser.add_argument("--no-truth", action="store_true", help="do not ask what is right; a truth takes a run")
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
    """Of one program; those of one family count once."""

    def __init__(self, name, family, database, truth=None):
        self.name, self.family, self.database, self.truth = name, family, database, truth or {}

    def owners(self, text):
        """{id: (bytes, owner)} by these rules."""
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "rules.ini", pathlib.Path(folder) / "out"
            path.write_text(text)
            done = vtrace("export", "--format", "csv", "-o", out, "--rules", path, self.database)
            if done.returncode:
                raise runs.Failed(f"{self.name}: {done.stderr}")
            with open(next((out / "allocation").glob("*/data.csv")), encoding="utf-8", newline="") as file:
                return {int(row["event"]): (int(row["size_bytes"]), row["owner"]) for row in csv.DictReader(file)
                        if row["is_owned"] in ("1", "true")}

    def is_right(self, event, owner):
        truth = self.truth.get(event)
        return bool(truth and truth[1]) and score.class_of(owner) == score.class_of(truth[1])


def recording_of(entry, probe, observe, folder, has_truth):
    """That of a case, which is made where there is none yet."""
    found, _, _ = runs.keep(entry, probe, folder, observe)
    true = {}
    if has_truth:
        devices = runs.find_truth(entry)["devices"]
        for device in found.devices():
            true |= recorded.join(found.births(device), devices[device])
    return Recording(f"{entry.name}-{probe}", entry.options.get("family", entry.name), found.database, true)


def recordings(options, folder):
    """Each as a function that gives it, or fails."""
    entries = catalogue.read() | catalogue.read(FRAMEWORKS / "cases", FRAMEWORKS / "oracle")
    probes = "10" if options.probe == "both" else options.probe
    for probe, name in itertools.product(probes, () if options.no_cases else options.case or entries):
        if runs.has(entries[name]):
            yield functools.partial(recording_of, entries[name], probe, int(options.observe), folder,
                                    not options.no_truth and not options.decided)
    for database in sorted(options.also.glob("*/run.db") if options.also else ()):
        name = database.parent.name
        yield functools.partial(Recording, name, name.partition("-")[0], database)


def units_of(sections, deciding):
    """{name: sections to leave out}, of what can matter in a recording where these rules decide."""
    units = {s.name: {s.number} for s in sections if not s.is_rule or s.number in deciding or
             s.keys["owner"] == "kv cache"}
    by_fact = defaultdict(set)
    for section in sections:
        for fact in section.facts:
            by_fact[fact].add(section.number)
    return units | {f"fact {fact}": numbers for fact, numbers in by_fact.items() if numbers & deciding}


def decide(recording, sections, table):
    """Adds what each rule decides to the table; returns the numbers of those that decide anything."""
    tagged = recording.owners("".join(s.tagged() for s in sections))
    deciding = {int(owner.rpartition(TAG)[2]) for _, owner in tagged.values() if TAG in owner}
    for _, (size, owner) in tagged.items():
        if TAG in owner:
            table[sections[int(owner.rpartition(TAG)[2])].name].decided[recording.family] += size
    return deciding


def ablate(recording, sections, table, is_whole):
    base = recording.owners("".join(s.text for s in sections))
    deciding = decide(recording, sections, table)
    for name, without in units_of(sections, deciding).items():
        if not is_whole and len(table[name].changed) >= ENOUGH:
            continue
        try:
            got = recording.owners("".join(s.text for s in sections if s.number not in without))
        except runs.Failed:
            continue  # rules need a section that others speak of
        row = table[name]
        for event, (size, owner) in base.items():
            other = got[event][1]
            if score.class_of(other) != score.class_of(owner):
                row.changed[recording.family] += size
                row.gained += size * (recording.is_right(event, owner) - recording.is_right(event, other))


class Row:
    def __init__(self):
        self.decided, self.changed, self.gained = defaultdict(int), defaultdict(int), 0


def main(arguments):
    options = parse(arguments)
    sections, table = read_sections(), defaultdict(Row)
    for section in sections:
        table[section.name]  # rows in the order of the file
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.recordings or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for make in recordings(options, folder):
            try:
                recording = make()
                if options.decided:
                    decide(recording, sections, table)
                else:
                    ablate(recording, sections, table, options.whole)
                print(recording.name, file=sys.stderr, flush=True)
            except runs.Failed as error:
                print(f"FAILED {str(error).strip().splitlines()[-1]}", file=sys.stderr)
    rows = sorted(table.items(), key=lambda item: -len(item[1].decided if options.decided else item[1].changed))
    print(f"{'left out':60} {'decides in':>10} {'changes in':>10} {'MiB changed':>12} {'MiB made right':>15}  e.g.")
    for name, row in rows:
        print(f"{name:60} {len(row.decided):10} {len(row.changed):10}"
              f" {sum(row.changed.values()) / (1 << 20):12.1f} {row.gained / (1 << 20):15.1f}"
              f"  {' '.join(sorted(row.changed, key=row.changed.get)[-2:])}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {name: {"decided": row.decided, "changed": row.changed, "gained": row.gained} for name, row in rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
