# SPDX-License-Identifier: MIT
"""Run programs of the frameworks, print what vtrace says of them that is right, and hold it against the bounds.

Exit code 0: all bounds are met, 1: not, 3: a program failed, 77: no program of those asked for could run here.
"""
import argparse
import contextlib
import json
import pathlib
import sys
import tempfile
from collections import Counter
from statistics import mean

import catalogue
import runs
from recording import vtrace
from score import Case, top

HERE = pathlib.Path(__file__).resolve().parent
NR_INSTANTS = 5
STAGES = ("forward", "backward", "optimizer", "evaluation", "generation")
LEAST_OWNERS, LEAST_KINDS, LEAST_KINDS_MEAN = 99.0, 95.0, 99.0
NO_KIND = ("activations/other", "activations/checkpoint")


class Result:
    """What one recording got right."""

    def __init__(self, entry, case, difference, truth, report):
        self.name, self.case, self.difference = entry.name, case, difference
        options = entry.options
        self.owners, self.worst = case.peak("right"), min(m.percent("right") for m in case.moments)
        self.kinds = share_of_kinds(case)
        self.stated = (options.get("steps", 0), options.get("micro_batches", 1), sorted(options.get("stages", ())))
        if truth["steps"] != self.stated[0]:
            raise runs.Failed(f"{entry.name} states {self.stated[0]} steps and takes {truth['steps']}")
        steps = {row["index"]: len(row["micro_batches"]) for row in report["steps"]}
        micro_batches = set(steps.values()) or {self.stated[1]}
        self.steps = len(steps)
        self.micro_batches = micro_batches.pop() if len(micro_batches) == 1 else sorted(micro_batches)
        self.stages = sorted({row["name"] for row in report["stages"]} & set(STAGES))
        self.births_in = Counter()
        for moment in case.moments:
            self.births_in += moment.births_in

    @property
    def share_of_stages(self):
        """Percent; None where nothing at the instants was made in a stage that the oracle knows."""
        if not self.births_in:
            return None
        right = sum(n for (true, got), n in self.births_in.items() if got in true.split("/"))
        return 100 * right / sum(self.births_in.values())

    def misses(self):
        found = []
        if self.owners < LEAST_OWNERS:
            found.append("owners")
        if self.kinds is not None and self.kinds < LEAST_KINDS:
            found.append("kinds")
        if (self.steps, self.micro_batches) != self.stated[:2]:
            found.append(f"steps: {self.steps} of {self.micro_batches}, not {self.stated[0]} of {self.stated[1]}")
        if self.stages != self.stated[2]:
            odd = sorted(set(self.stages) ^ set(self.stated[2]))
            found.append("stages: " + " ".join(("+" if s in self.stages else "-") + s for s in odd))
        if self.difference:
            found.append(f"books: {self.difference} bytes")
        return found


def share_of_kinds(case):
    """Percent of the bytes of activations at the peaks whose kind is declared, and right; None where there are none."""
    totals, agreed = Counter(), Counter()
    for moment in case.peaks:
        totals += moment.truth
        agreed += moment.both
    kinds = [word for word in totals if word.startswith("activations/") and word not in NO_KIND]
    total = sum(totals[word] for word in kinds)
    return 100 * sum(agreed[word] for word in kinds) / total if total else None


def score(entry, keep=None):
    truth = runs.find_truth(entry)
    with contextlib.nullcontext(keep) if keep else tempfile.TemporaryDirectory() as folder:
        recorded, difference, _ = runs.keep(entry, 1, pathlib.Path(folder))

        def ask(command, *options):
            done = vtrace(command, recorded.database, *options, "--json")
            if done.returncode:
                raise runs.Failed(f"{entry.name}, {command} {options}: {done.stderr}")
            return json.loads(done.stdout)

        case = Case(entry.name, recorded, truth,
                    lambda when, device: ask("blocks", "--at", when, "--device", device)["blocks"], NR_INSTANTS)
        return Result(entry, case, difference, truth, ask("report"))


def percent(share):
    return "      -" if share is None else f"{share:7.2f}"


def print_result(result, verbose):
    kinds = percent(result.kinds)
    size = sum(m.bytes["all"] for m in result.case.peaks) / (1 << 20)
    without = result.case.peak("without truth")
    print(f"{result.name:26} {size:8.1f} {result.owners:7.2f} {without:8.2f} {result.worst:7.2f} {kinds}"
          f" {percent(result.share_of_stages)} {result.steps:5} {result.difference:5} ",
          ", ".join(result.misses()) or "ok", flush=True)
    if verbose:
        for (truth, got), n in confusions(result.case).most_common(8):
            print_example(truth, got, n, result.case.example((truth, got)))
        for (true, got), n in result.births_in.most_common():
            if got not in true.split("/"):
                print(f"    made in {true}, not in {got}: {n / (1 << 20):.1f}M over all instants")


def confusions(case):
    """Those at the peaks, then those of whole owners at other instants."""
    found = case.confusions(is_top=False)
    for moment in case.stages:
        for key, n in moment.confusions.items():
            if top(key[0]) != top(key[1]) and key not in found:
                found[key] = n
    return found


def print_example(true, got, n, example):
    block, truth, moment = example
    print(f"    {true} -> {got} {n / (1 << 20):.1f}M, e.g. id {block['id']} {block['size_bytes'] / (1 << 20):.1f}M at"
          f" {moment}: known by {block['provenance']}, stage {block['stage']}, step {block['step']}")
    print(f"        truth: {truth and truth[3]} {truth and truth[2][:2]}")
    print(f"        python: {block['python'][:5]} modules: {block['modules'][:3]}")
    print(f"        native: {[f.partition('!')[2] for f in block['native'] if '_ops::' in f or 'Backward' in f][:4]}")


def as_json(result):
    return {"program": result.name, "owners": result.owners, "owners_worst_instant": result.worst,
            "without_truth": result.case.peak("without truth"), "kinds": result.kinds,
            "stages_of_bytes": result.share_of_stages, "steps": result.steps, "stages": result.stages,
            "books_difference_bytes": result.difference, "misses": result.misses(),
            "confusions": [{"truth": key[0], "owner": key[1], "bytes": n}
                           for key, n in result.case.confusions(is_top=False).most_common()]}


def print_figures(results):
    kinds = [r.kinds for r in results if r.kinds is not None]
    print(f"\nowners: {mean(r.owners for r in results):.2f} mean, {min(r.owners for r in results):.2f} worst"
          f" (bound {LEAST_OWNERS})")
    if kinds:
        print(f"kinds of activations: {mean(kinds):.2f} mean (bound {LEAST_KINDS_MEAN}), {min(kinds):.2f} worst"
              f" (bound {LEAST_KINDS})")
    print(f"all right: {sum(not r.misses() for r in results)} of {len(results)} programs")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/frameworks/run")
    parser.add_argument("case", nargs="*", help="default: all")
    parser.add_argument("--quick", action="store_true", help="those that every scripts/test runs")
    parser.add_argument("--cached", action="store_true", help="do not make the environment")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path,
                        help="keep recordings there, and use those that are there")
    parser.add_argument("--json", metavar="FILE", help="write the same figures there")
    parser.add_argument("-v", "--verbose", action="store_true", help="each confusion with an example")
    parser.add_argument("--list", action="store_true", help="the programs")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    if options.keep:
        options.keep = options.keep.resolve()
        options.keep.mkdir(parents=True, exist_ok=True)
    entries = catalogue.read(HERE / "cases", HERE / "oracle")
    unknown = [name for name in options.case if name not in entries]
    if unknown:
        sys.exit(f"no program {', '.join(unknown)}; --list lists them")
    chosen = [e for e in entries.values() if (not options.case or e.name in options.case)
              and (not options.quick or e.options.get("quick"))]
    if options.list:
        for entry in chosen:
            print(f"{entry.name:26} {entry.options.get('family', '')}: {entry.options.get('mode', '')}")
        return 0
    results, nr_failed = [], 0
    print(f"{'program':26} MiB peak  owners no truth   worst   kinds  stages steps books  misses")
    for entry in chosen:
        if not runs.has(entry):
            print(f"{entry.name:26} skipped: needs {', '.join(entry.options['needs'])}")
            continue
        try:
            results.append(score(entry, options.keep))
        except runs.Failed as error:
            nr_failed += 1
            print(f"{entry.name:26} FAILED {str(error) if options.verbose else str(error).strip().splitlines()[-1]}",
                  flush=True)
            continue
        print_result(results[-1], options.verbose)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps([as_json(r) for r in results], indent=1))
    if results:
        print_figures(results)
    if nr_failed:
        return 3
    return 77 if not results else int(any(r.misses() for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
