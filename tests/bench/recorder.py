# SPDX-License-Identifier: MIT
"""The figures of what recording costs, each beside what it must be.  README.md says what each of them is."""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from recording import LIBRARY, clean_environment
from runs import (EMPTY_LIBRARY, EVENTS_LIBRARY, collect, collect_instructions, depths, environment, in_turn,
                  instructions, medians, watched, workload)
from workload import FIRST_STEPS

FIGURES = {}
# Of the default build on x86-64, Python 3.11, gcc 12: 3,982.
MOST_INSTRUCTIONS = 4029


def figure(function):
    FIGURES[function.__name__] = function
    return function


def row(name, value, unit, at_most=None, note="", at_least=None, is_exact=False):
    """`is_exact`: the machine has no part in it, so that a missed bound is a failure."""
    good = None
    if at_most is not None or at_least is not None:
        good = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
    return {"figure": name, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least, "is_met": good,
            "is_exact": is_exact, "note": note}


@figure
def event(folder, options):
    """Added time per event, stacks warm."""
    database = folder / "event.db"

    def traced(_):
        database.unlink(missing_ok=True)
        return workload("events", EVENTS_LIBRARY, options.events, database=database)

    results = in_turn(options.rounds, {
        "one event, without": lambda _: workload("events", EVENTS_LIBRARY, options.events),
        "one event, recorded": traced})
    without, recorded = (medians(results[name]) for name in results)
    python, native = depths(database)
    fewer, more = ("events", EVENTS_LIBRARY, 1000), ("events", EVENTS_LIBRARY, 5000)
    counted = instructions(folder, fewer, more, 4000)
    # What the function takes by itself: the simulator behind it makes blocks zero.
    unrecorded = instructions(folder, fewer, more, 4000, is_recorded=False)
    note = f"{python:.0f} Python and {native:.0f} native frames"
    rows = [row("added time per event, median", recorded["median_ns"] - without["median_ns"], "ns", 500, note),
            row("added time per event, p99", recorded["p99_ns"] - without["median_ns"], "ns", 1000, note),
            row("added time per event, mean", recorded["mean_ns"] - without["mean_ns"], "ns", None, note)]
    if counted is not None:
        rows.append(row("added instructions per event", counted - unrecorded, "", MOST_INSTRUCTIONS, "callgrind",
                        is_exact=True))
    return rows


@figure
def history(folder, options):
    """The same beside PyTorch's own recorder, on PyTorch's own blocks."""
    number = options.events * 2

    def traced(_):
        database = folder / "history.db"
        database.unlink(missing_ok=True)
        return workload("tensors", number, database=database)

    results = in_turn(options.rounds, {
        "tensors, without": lambda _: workload("tensors", number),
        "tensors, recorded": traced,
        "tensors, PyTorch's history, all": lambda _: workload("tensors", number, "all"),
        "tensors, PyTorch's history, python": lambda _: workload("tensors", number, "python")})
    without, ours, everything, python = (medians(r)["cpu_ns_per_event"] for r in results.values())
    depth = "%.0f Python and %.0f native frames" % depths(folder / "history.db")
    return [row("added per PyTorch event", ours - without, "ns", None, depth),
            row("... by PyTorch's history, all", everything - without, "ns"),
            row("... by PyTorch's history, python", python - without, "ns"),
            row("ours against all", (ours - without) / (everything - without), "", 1 / 8),
            row("ours against python", (ours - without) / (python - without), "", 1 / 5)]


def training(folder, options, layers, width, steps, bound):
    def traced(_):
        database = folder / "gpt.db"
        database.unlink(missing_ok=True)
        return workload("gpt", layers, width, steps, database=database)

    name = f"GPT {layers} x {width}"
    results = in_turn(options.rounds, {
        f"{name}, without": lambda _: workload("gpt", layers, width, steps),
        f"{name}, recorded": traced,
        f"{name}, PyTorch's history, python": lambda _: workload("gpt", layers, width, steps, "python"),
        f"{name}, PyTorch's history, all": lambda _: workload("gpt", layers, width, steps, "all")})
    without, ours, python, everything = (medians(r) for r in results.values())
    note = f"{without['events_per_step']:.0f} events a step of {without['wall_ns'] / 1e6:.2f} ms, kernels take no time"
    rows = [row(f"{name}, slower by", 100 * (ours["wall_ns"] / without["wall_ns"] - 1), "%", bound, note),
            row(f"{name}, more processor time", 100 * (ours["cpu_ns"] / without["cpu_ns"] - 1), "%"),
            row(f"{name}, added per event", (ours["cpu_ns"] - without["cpu_ns"]) / without["events_per_step"], "ns")]
    quiet = ours["quiet_cpu_ns"] - without["quiet_cpu_ns"]
    for what, result, most in (("python", python, 2 / 5), ("all", everything, 1 / 4)):
        rows += [row(f"... PyTorch's history, {what}, slower by",
                     100 * (result["wall_ns"] / without["wall_ns"] - 1), "%"),
                 row(f"... ours against {what}, quiet steps",
                     quiet / (result["quiet_cpu_ns"] - without["quiet_cpu_ns"]), "", most,
                     f"{quiet / without['events_per_step']:.0f} ns an event, processor time")]
    return rows


@figure
def training_small(folder, options):
    """Six layers: the worst case, nothing but launches."""
    return training(folder, options, 6, 256, options.steps, 5)


@figure
def training_large(folder, options):
    """24 layers; on a device most of a step is kernels, here as little as in the small one."""
    return training(folder, options, 24, 2048, max(options.steps // 4, 5), 1)


@figure
def observing(folder, options):
    """What observing PyTorch's operators takes of a run of 10,000 steps: it ends within the first."""
    def run(number, steps):
        database = folder / f"observed-{steps}.db"
        database.unlink(missing_ok=True)
        return workload("gpt", 6, 256, steps, database=database, settings={"VTRACE_OBSERVE": str(number)})

    results = in_turn(options.rounds, {f"observed {number}": lambda _, n=number: run(n, options.steps)
                                       for number in (0, 1)})
    without, observed = (medians(r) for r in results.values())
    run(1, FIRST_STEPS)
    few, many = (count_operators(folder / f"observed-{steps}.db") for steps in (FIRST_STEPS, options.steps))
    added = observed["first_cpu_ns"] - without["first_cpu_ns"]
    return [row("observing, added to the first steps", added / 1e6, "ms", None, f"{many:,} operators"),
            row("observing, of 10,000 steps", 100 * added / (1e4 * without["cpu_ns"]), "%", 0.1,
                f"of {without['cpu_ns'] / 1e6:.2f} ms of processor time"),
            row(f"operators observed in {options.steps} steps, more than in {FIRST_STEPS}", many - few, "", 0)]


@figure
def watching(folder, options):
    """What a program loses by `vtrace top` on a terminal beside it, refreshed each second."""
    arguments = ("gpt", 6, 256, options.steps * 50)
    usages = []

    def run(number, is_watched):
        # Each run has another file, as the watcher waits until it is there.
        database = folder / f"watched-{number}-{is_watched}.db"
        if not is_watched:
            return workload(*arguments, database=database)
        with watched(database, usages):
            return workload(*arguments, database=database)

    results = in_turn(options.rounds, {name: lambda n, w=name == "watched": run(n, w)
                                       for name in ("alone", "watched")})
    alone, beside = (medians(r) for r in results.values())
    walls = sorted(result["wall_ns"] for result in results["alone"])
    return [row("watched by top, slower by", 100 * (beside["wall_ns"] / alone["wall_ns"] - 1), "%", None,
                f"runs alone differ by {100 * (walls[-1] / walls[0] - 1):.1f} %"),
            row("watched by top, more processor time", 100 * (beside["cpu_ns"] / alone["cpu_ns"] - 1), "%"),
            # A tenth while the program runs; one look more when it has ended, at all of it.
            row("top itself", 100 * statistics.median(usages), "% of one", None, "with the look at the end")]


def count_operators(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT count(*) FROM operator").fetchone()[0]


@figure
def memory(folder, options):
    """Host memory of the traced process while events are recorded."""
    added = workload("memory", EVENTS_LIBRARY, options.most_events, database=folder / "memory.db")["added_bytes"]
    rows = []
    for number, kinds in added.items():
        rows.append(row(f"private memory after {int(number):,} events", kinds["RssAnon"] / 2 ** 20, "MiB", 64))
        rows.append(row("... with pages of the journal", kinds["VmRSS"] / 2 ** 20, "MiB", None,
                        "shared with the page cache"))
    return rows


@figure
def importing(folder, options):
    """What the collector and the database cost, on a training run and on a repetitive one."""
    rows = []
    for name, arguments in (("training", ("gpt", 6, 256, options.steps * 4)),
                            ("repetitive", ("repeat", EVENTS_LIBRARY, 1, 10 ** 6))):
        journal, database = folder / f"{name}.journal", folder / f"{name}.db"
        before = os.times()
        workload(*arguments, database=database, collect=False)
        program_s = os.times().children_user - before.children_user
        counted = collect_instructions(folder, journal)
        cpu_s, system_s = collect(journal)
        with_events = subprocess.run([sys.executable, "-c", COUNT, str(database)], check=True, capture_output=True,
                                     text=True).stdout
        number = int(with_events)
        bytes_per_event = database.stat().st_size / number
        rows += [row(f"collector, {name}", number / cpu_s, "events/s", at_least=10 ** 6,
                     note=f"{number:,} events, {system_s / cpu_s:.0%} in the kernel"),
                 row(f"database, {name}", bytes_per_event, "B/event", 40 if name == "repetitive" else None,
                     "stacks and names too")]
        if counted is not None:
            rows.append(row(f"collector's instructions per event, {name}", counted / number, "", None,
                            "callgrind, SQLite's too"))
        if name == "training":
            rows.append(row("collector's processor time against the program's", 100 * cpu_s / program_s, "%", 100))
        database.unlink()
    return rows


COUNT = """import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM run WHERE key = 'events'").fetchone()[0])"""


@figure
def spawning(folder, options):
    """A process that never meets CUDA, from its start to its end."""
    def once(library):
        env = clean_environment({"LD_PRELOAD": str(library)} if library else None)
        start = time.perf_counter_ns()
        os.waitpid(os.posix_spawn("/bin/true", ["true"], env), 0)
        return time.perf_counter_ns() - start

    # What no library that is preloaded can be below: one without code or data.
    times = {None: [], EMPTY_LIBRARY: [], LIBRARY: []}
    for _ in range(options.rounds * 200):
        for library, found in times.items():
            found.append(once(library))
    without, empty, ours = (statistics.median(t) / 1e3 for t in times.values())
    return [row("spawn and exit without CUDA, more", 100 * (ours / without - 1), "%", 5, f"{without:.0f} us without"),
            row("... added", ours - without, "us"),
            row("... added by an empty library", empty - without, "us", None, f"{100 * (empty / without - 1):.1f} %")]


@figure
def scaling(folder, options):
    """Processor time per event as threads and events become more."""
    def run(threads, number):
        def once(_):
            database = folder / "scaling.db"
            result = workload("repeat", EVENTS_LIBRARY, threads, number, database=database, collect=False)
            (folder / "scaling.journal").unlink()
            return result
        return once

    counts = [n for n in (10 ** 4, 10 ** 5, 10 ** 6, 10 ** 7, 10 ** 8) if n <= options.most_events]
    # More threads than cores share them: processor time per event is still that of each of them.
    threads = [1, 2, 4, 8, 16]
    cores = len(os.sched_getaffinity(0))
    results = in_turn(options.rounds, {
        **{f"{n} threads": run(n, 10 ** 6 // n) for n in threads},
        **{f"{n:,} events": run(1, n) for n in counts}})
    found = {name: medians(r)["cpu_ns_per_event"] for name, r in results.items()}
    rows = [row(f"processor time per event, {name}", value, "ns") for name, value in found.items()]
    at_once = max(n for n in threads if n <= cores)
    rows.append(row(f"{at_once} threads at once against one", found[f"{at_once} threads"] / found["1 threads"],
                    "times", None, f"{cores} cores"))
    rows.append(row(f"{threads[-1]} threads against one", found[f"{threads[-1]} threads"] / found["1 threads"],
                    "times", None, f"{cores} cores"))
    rows.append(row("most against fewest events", found[f"{counts[-1]:,} events"] / found[f"{counts[0]:,} events"],
                    "times"))
    return rows


@figure
def synchronising(folder, options):
    """What a synchronisation costs more while no pool is followed, and for each one that is."""
    def run(pools, is_recorded):
        def once(_):
            database = folder / "synchronising.db" if is_recorded else None
            result = workload("synchronise", pools, 200000, database=database, collect=False)
            (folder / "synchronising.journal").unlink(missing_ok=True)
            return result
        return once

    results = in_turn(options.rounds, {(pools, is_recorded): run(pools, is_recorded)
                                       for pools in (0, 1, 8) for is_recorded in (False, True)})
    found = {name: medians(r)["cpu_ns_per_call"] for name, r in results.items()}
    added = {pools: found[pools, True] - found[pools, False] for pools in (0, 1, 8)}
    return [row(f"synchronisation, {pools} pools followed, added", value, "ns", None,
                f"{found[pools, False]:.0f} ns without") for pools, value in added.items()]


@figure
def references(folder, options):
    """Recorders of the host's memory on as deep a stack: what others pay for an event."""
    number = options.events * 10
    tools = {"heaptrack": ["heaptrack", "-o", str(folder / "heaptrack")]}
    tools = {name: command for name, command in tools.items() if shutil.which(command[0])}
    if subprocess.run([sys.executable, "-c", "import memray"], capture_output=True, check=False).returncode == 0:
        tools["memray, native"] = [sys.executable, "-m", "memray", "run", "--native", "-f", "-o",
                                   str(folder / "memray")]
    rows = []
    for name, command in tools.items():
        def once(wrapper):
            program = [sys.executable] if not wrapper or wrapper[0] != sys.executable else []
            done = subprocess.run([*wrapper, *program, str(pathlib.Path(__file__).with_name("workload.py")), "malloc",
                                   str(EVENTS_LIBRARY), str(number)], check=True, capture_output=True, text=True,
                                  env=environment())
            line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
            return json.loads(line)

        results = in_turn(options.rounds, {"malloc": lambda _: once([]), name: lambda _, c=command: once(c)})
        without, theirs = (medians(r)["ns_per_event"] for r in results.values())
        rows.append(row(f"{name}, added per event", theirs - without, "ns", None, "malloc, processor time"))
    return rows


def show(rows):
    for line in rows:
        bound = " ".join(f"{sign} {line[key]:,.10g}" for sign, key in (("<=", "at_most"), (">=", "at_least"))
                         if line[key] is not None)
        value = f"{line['value']:,.3f}" if abs(line["value"]) < 10 else f"{line['value']:,.0f}"
        state = {None: "", True: "met", False: "MISSED"}[line["is_met"]]
        print(f"{line['figure']:<52} {value:>12} {line['unit']:<9} {bound:>12}  {state:<6}  {line['note']}".rstrip())
    sys.stdout.flush()


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind, in turn; medians are shown")
    parser.add_argument("--events", type=int, default=20000, help="timed one by one in each run")
    parser.add_argument("--most-events", type=int, default=10 ** 7)
    parser.add_argument("--steps", type=int, default=100, help="of training in each run")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    for name in options.figures:
        if name not in FIGURES:
            parser.error(f"no figure {name} (--list names them)")
    return options


def main():
    options = parse()
    if options.list:
        for name, function in FIGURES.items():
            print(f"{name:<16} {function.__doc__}")
        return
    rows = []
    for name in options.figures or FIGURES:
        with tempfile.TemporaryDirectory(prefix="vtrace-bench-") as folder:
            found = FIGURES[name](pathlib.Path(folder), options)
        show(found)
        rows += found
    if options.json:
        load = os.getloadavg()
        options.json.write_text(json.dumps({"cores": len(os.sched_getaffinity(0)), "load": load, "rows": rows},
                                           indent=1) + "\n")
    missed = [line["figure"] for line in rows if line["is_exact"] and line["is_met"] is False]
    if missed:
        sys.exit(f"recorder: missed, and not for the machine: {', '.join(missed)}")


if __name__ == "__main__":
    main()
