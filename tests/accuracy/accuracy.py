# SPDX-License-Identifier: MIT
"""Run cases, print what vtrace names right, and hold the figures against the bounds.

Exit code 0: all bounds are met (only asked for when no case was named), 1: not, 3: a case failed.
"""
import argparse
import json
import sys

import bounds
import catalogue
import runs


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/accuracy/run")
    parser.add_argument("case", nargs="*", help="default: all")
    parser.add_argument("--probe", choices=("0", "1", "both"), default="both", help="VTRACE_PROBE of the runs")
    parser.add_argument("--backend", choices=runs.BACKENDS, default="caching", help="PyTorch's allocator in the runs")
    parser.add_argument("--json", metavar="FILE", help="write the same figures there")
    parser.add_argument("-v", "--verbose", action="store_true", help="each confusion with an example")
    parser.add_argument("--list", action="store_true", help="the cases")
    return parser.parse_args(arguments)


def mebibytes(n):
    return f"{n / (1 << 20):.1f}"


def print_row(probe, case, difference, verbose):
    size = sum(m.bytes["all"] for m in case.peaks)
    confusions = [(k, n) for k, n in case.confusions().most_common() if k[0] != "-"] or case.confusions().most_common(1)
    largest = ""
    if confusions and confusions[0][1] >= size / 1000:
        (truth, got), n = confusions[0]
        largest = f"{truth} -> {got} {mebibytes(n)}M"
    stages = min((m.percent("right") for m in case.stages), default=100.0)
    print(f"{case.name:20} {probe:5} {mebibytes(size):>8} {case.peak('right'):7.2f} {case.peak('wrong'):6.2f}"
          f" {case.peak('unknown'):6.2f} {case.peak('without truth'):6.2f} {stages:7.2f} {difference:5}  {largest}",
          flush=True)
    if verbose:
        for key, n in case.confusions(is_top=False).most_common(8):
            print_example(key, n, case.example(key))


def print_example(key, n, example):
    block, truth, moment = example
    print(f"    {key[0]} -> {key[1]} {mebibytes(n)}M, e.g. id {block['id']} {mebibytes(block['size_bytes'])}M at"
          f" {moment}: known by {block['provenance']}, stage {block['stage']}, step {block['step']}")
    print(f"        truth: {truth and truth[3]} {truth and truth[2][:2]}")
    print(f"        python: {block['python'][:4]} modules: {block['modules'][:3]}")
    native = [f.partition("!")[2] for f in block["native"] if "_ops::" in f or "Backward" in f]
    print(f"        native: {native[:4]}")


def print_figures(rows):
    print(f"\n{'figure':52} {'needed':>16} {'measured':>10}")
    for name, value, relation, bound in rows:
        shown = "-" if value is None else f"{value:.2f}"
        verdict = "ok" if bounds.is_met(value, relation, bound) else "-" if value is None else "MISSED"
        print(f"{name:52} {relation:>9} {bound:6g} {shown:>10}  {verdict}")


def facts(block, truth, moment):
    return {"at": moment, "where": truth and truth[3], "names": truth and truth[2]} | {
        k: block[k] for k in ("id", "size_bytes", "provenance", "stage", "step", "python", "modules", "native")}


def as_json(scored, rows):
    cases = [{"case": case.name, "probe": int(probe), "bytes_at_peak": sum(m.bytes["all"] for m in case.peaks),
              "right": case.peak("right"), "wrong": case.peak("wrong"), "unknown": case.peak("unknown"),
              "wrong_certain": case.peak("wrong, certain"), "without_truth": case.peak("without truth"),
              "books_difference_bytes": difference,
              "moments": [{"at": m.name, "bytes": dict(m.bytes)} for m in case.moments],
              "confusions": [{"truth": key[0], "owner": key[1], "bytes": n} | facts(*case.example(key))
                             for key, n in case.confusions(is_top=False).most_common()]}
             for probe, case, difference in scored]
    return {"cases": cases, "figures": [{"figure": n, "measured": v, "relation": r, "bound": b,
                                         "ok": bounds.is_met(v, r, b)} for n, v, r, b in rows]}


def main(arguments):
    options = parse(arguments)
    entries = catalogue.read()
    unknown = [name for name in options.case if name not in entries]
    if unknown:
        sys.exit(f"no case {', '.join(unknown)}; --list lists them")
    chosen = [e for e in entries.values() if not options.case or e.name in options.case]
    if options.list:
        for entry in chosen:
            print(f"{entry.name:20} {entry.options.get('family', '')}, {entry.options.get('mode', '')}")
        return 0
    scored, failed = [], 0
    print(f"{'case':20} probe  MiB peak   right  wrong unknown no truth stages books  largest confusion")
    for entry in chosen:
        if not runs.has(entry):
            print(f"{entry.name:20} FAILED needs {', '.join(entry.options['needs'])}")
            failed += 1
            continue
        for probe in ("1", "0") if options.probe == "both" else (options.probe,):
            try:
                case, difference = runs.score(entry, probe, options.backend)
            except runs.Failed as error:
                failed += 1
                text = str(error) if options.verbose else str(error).strip().splitlines()[-1]
                print(f"{entry.name:20} {probe:5} FAILED {text}", flush=True)
                continue
            scored.append((probe, case, difference))
            print_row(probe, case, difference, options.verbose)
    rows = bounds.figures([c for p, c, _ in scored if p == "1"], [c for p, c, _ in scored if p == "0"],
                          [d for _, _, d in scored])
    print_figures(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(as_json(scored, rows), file, indent=1)
    if failed:
        return 3
    return 0 if options.case or all(bounds.is_met(v, r, b) for _, v, r, b in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
