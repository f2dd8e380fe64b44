# SPDX-License-Identifier: MIT
"""Does `vtrace diff` name the places and bytes of a change?  Programs with one edit each, whose truth is known.

    pairs [--pairs N] [--seed N] [--json FILE] [--keep FOLDER] [EDIT...]

A pair is right if exactly the places differ that do by the identity of lines, each by its bytes. Its owners are wrong
if equal bytes have other owners, or if the bytes of a line that was put in are not those of one owner. Exit 1: fewer
than 98 % of the pairs are right, or an owner is wrong.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import random
import sys
import tempfile

import edits
import programs
import truth
from recording import PYTHON, vtrace
from versions import Impossible, Version

SHARE = 0.98
AT_ONCE = 25  # versions that one process runs
LAYOUT = [name for name, (kind, _) in edits.EDITS.items() if kind == "same"]
EXTRA = ("advice.py",)  # what programs import from beside them


def digest(version):
    return hashlib.sha256(json.dumps(version.key()).encode()).hexdigest()


def run_all(folder, jobs):
    """The recordings of the jobs of forks.py, below `folder`; None: it does not run."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (folder / "jobs.json").write_text(json.dumps(jobs))
    # Process ids come again: what is recorded at once gets a folder.
    batch = f"batch{len(list(folder.glob('batch*')))}"
    (folder / batch).mkdir()
    done = vtrace("run", "--simulate", "h100-80g", "-q", "-o", folder / batch / "%p.db", "--", PYTHON,
                  pathlib.Path(__file__).with_name("forks.py"), folder / "jobs.json", cwd=work,
                  env={"OMP_NUM_THREADS": "1"}, timeout=7200)
    assert done.returncode == 0, done.stderr
    ended = [line.split() for line in done.stdout.splitlines()]
    assert len(ended) == len(jobs)
    return [f"{batch}/{pid}.db" if code == "0" else None for pid, code in ended]


class Recorder:
    """Versions and their recordings, each version recorded once; a kept folder knows them again."""

    def __init__(self, folder):
        self.folder, self.index = folder, folder / "recorded.json"
        self.databases = json.loads(self.index.read_text()) if self.index.exists() else {}
        self.extra = {name: (programs.FOLDERS[0] / name).read_text() for name in EXTRA}

    def record(self, versions):
        todo = {digest(v): v for v in versions if digest(v) not in self.databases}
        for first in range(0, len(todo), AT_ONCE):
            self.record_some(dict(list(todo.items())[first:first + AT_ONCE]))
            self.index.write_text(json.dumps(self.databases))

    def record_some(self, todo):
        jobs = [{"main": v.main, "files": {**self.extra, **{n: v.text(n) for n in v.files}}} for v in todo.values()]
        self.databases.update(zip(todo, run_all(self.folder, jobs), strict=True))

    def of(self, version):
        name = self.databases[digest(version)]
        return name and self.folder / name


def make(name, version, rng, hot):
    kind, function = edits.EDITS[name]
    return (name, kind, *function(version, rng, hot))


def draw(bases, hot, wanted, seed, names):
    """Pairs, each with its names; edits take turns, programs and details are drawn."""
    rng, pairs, seen, tries = random.Random(seed), [], set(), 0
    while len(pairs) < wanted and tries < 100 * wanted:
        tries += 1
        name = names[tries % len(names)]
        program = rng.choice(sorted(bases))
        try:
            if "+" in name:
                first, second = rng.choice(LAYOUT), rng.choice(("batch", "kept_tensor_inserted", "width", "depth"))
                base, new = edits.both(first, second)(bases[program], rng, hot[program])
                label, kind = f"{first}+{second}", "bytes"
            else:
                label, kind, base, new = make(name, bases[program], rng, hot[program])
        except Impossible:
            continue
        is_reverse = rng.random() < 0.3
        key = base.key(), new.key(), is_reverse
        if key in seen or base.key() == new.key():
            continue
        seen.add(key)
        pairs.append((program, label + (" undone" if is_reverse else ""), kind,
                      *((new, base) if is_reverse else (base, new))))
    return pairs


def judge(kind, base, new, databases):
    """What is wrong with a pair: two lists, of places and of owners."""
    done = vtrace("diff", *databases, "--json", "--top", "1000000")
    assert done.returncode == 0, done.stderr
    device = json.loads(done.stdout)["devices"][0]
    before, after = truth.places(databases[0], base), truth.places(databases[1], new)
    true = truth.changes(before, after)
    found = truth.reported(device, base, new)
    places = []
    for key in {**true, **found}:
        there, changes = found.get(key, (0, []))
        if there != true[key] if key in true else changes:
            places.append(f"{key}: {true.get(key, 0):+d}, reported {there:+d}, as {changes}")
    owners = [o for o in device["owners"] if not o["is_rest"] and o["is_change"]]
    wrong = []
    if not true and owners:
        wrong = [f"equal bytes, {o['owner']} {o['change_bytes']:+d}" for o in owners]
    # With what blocks are larger by than was asked for, which is no change anywhere.
    of_owners = sum(o["change_bytes"] for o in device["owners"] if not o["is_rest"])
    if of_owners != truth.total(after) - truth.total(before):
        wrong.append(f"owners differ by {of_owners}, places by {truth.total(after) - truth.total(before)}")
    # One that grew within a block that was not cut has no more bytes.
    if len(true) == 1 and any(true.values()) and len(owners) != 1:
        wrong.append(f"one place, {len(owners)} owners: {[o['owner'] for o in owners]}")
    moved = device.get("moved", [])
    if kind == "same" and moved:
        places.append(f"reported as moved: {moved}")
    if kind == "moved" and not moved:
        places.append("not reported as moved")
    return places, wrong


def prepare(recorder, chosen):
    bases = {name: Version.of(programs.source_of(name)) for name in chosen}
    recorder.record(bases.values())
    failed = [name for name in bases if not recorder.of(bases[name])]
    assert not failed, f"{failed} do not run: {recorder.folder / 'work' / 'output'}"
    hot = {name: {line for _, ids in truth.places(recorder.of(v), v) for line in ids} for name, v in bases.items()}
    return bases, hot


def run(folder, wanted, seed, names, chosen=tuple(programs.PROGRAMS), part=slice(None)):
    """All pairs are drawn, whatever part of them is run: parts put together are the whole."""
    recorder = Recorder(folder)
    bases, hot = prepare(recorder, chosen)
    pairs = draw(bases, hot, wanted, seed, names)[part]
    recorder.record([v for pair in pairs for v in pair[3:]])
    rows = []
    for program, label, kind, base, new in pairs:
        databases = recorder.of(base), recorder.of(new)
        row = {"program": program, "edit": label, "kind": kind, "databases": [str(d) for d in databases]}
        if None in databases:
            row["failed"] = True
        else:
            row["places"], row["owners"] = judge(kind, base, new, databases)
        rows.append(row)
    return rows


def part_of(text):
    """FIRST:END, counted from 0."""
    first, colon, end = text.partition(":")
    if not (colon and first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"{text}: such as 0:100")
    return slice(int(first), int(end))


def print_rows(rows):
    valid = [r for r in rows if "failed" not in r]
    by_edit = collections.defaultdict(list)
    for row in valid:
        first, plus, _ = row["edit"].removesuffix(" undone").partition("+")
        by_edit[first + plus].append(row)
    for name in sorted(by_edit):
        mine = by_edit[name]
        print(f"{sum(not r['places'] for r in mine):4} of {len(mine):3} right  {name}")
    for row in valid:
        if row["places"] or row["owners"]:
            print(f"WRONG {row['program']}: {row['edit']}: {' '.join(row['databases'])}")
            for text in (*row["places"][:4], *row["owners"][:4]):
                print("     ", text)
    right, owners = sum(not r["places"] for r in valid), sum(bool(r["owners"]) for r in valid)
    print(f"{right} of {len(valid)} pairs right ({100 * right / max(1, len(valid)):.1f} %), {owners} with a wrong "
          f"owner, {len(by_edit)} kinds of edits; {len(rows) - len(valid)} more do not run")
    return bool(valid) and right >= SHARE * len(valid) and not owners


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edits", nargs="*")
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=part_of, default=slice(None), metavar="FIRST:END", help="run only these pairs")
    parser.add_argument("--programs", default=",".join(programs.PROGRAMS))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the recordings there, and use those that are there")
    options = parser.parse_args()
    names = options.edits or [*edits.EDITS, "+", "+", "+"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        rows = run(folder.absolute(), options.pairs, options.seed, names, options.programs.split(","),
                   options.part)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if print_rows(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
