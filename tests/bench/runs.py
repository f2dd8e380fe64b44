# SPDX-License-Identifier: MIT
"""Starts the workloads, with the recorder and without, always in turn: a machine that slows down slows both."""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from recording import BUILD, LIBRARY, SOURCE, VTRACE, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
EVENTS_LIBRARY = BUILD / "tests" / "bench" / "libc10.so"
EMPTY_LIBRARY = BUILD / "tests" / "bench" / "libempty.so"
LAUNCHER = SOURCE / "tests" / "simulator" / "sim-run"
TIMEOUT_S = 3600


def environment(database=None, collect=True):
    """The recorder's, or none of it."""
    if not database:
        return clean_environment()
    # The end of the program waits for its database: what is measured ends before.
    return clean_environment({"VTRACE_PRELOAD": str(LIBRARY), "VTRACE_OUTPUT": str(database), "VTRACE_QUIET": "1",
                              "VTRACE_COLLECT": str(int(collect)), "VTRACE_EXIT_WAIT": "3600"})


def workload(*arguments, database=None, collect=True, wrapper=(), program=HERE / "workload.py", settings=None):
    """What the workload printed."""
    command = [*wrapper, LAUNCHER, BUILD, "h100-80g", sys.executable, program, *arguments]
    done = subprocess.run(list(map(str, command)), env=environment(database, collect) | (settings or {}),
                          capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def watched(database, usages):
    """`vtrace top` on a terminal, from the first sign of the recording; adds its share of a processor to `usages`."""
    def watch():
        while not database.exists():
            time.sleep(0.05)
        start, (master, slave) = time.monotonic(), pty.openpty()
        with subprocess.Popen([str(VTRACE), "top", "--every", "1", str(database)], stdin=slave, stdout=slave,
                              env=clean_environment({"TERM": "xterm"})) as top:
            os.close(slave)
            with contextlib.suppress(OSError):  # the terminal's other end was closed
                while os.read(master, 65536):
                    pass
            os.close(master)
            _, status, usage = os.wait4(top.pid, 0)
            top.returncode = os.waitstatus_to_exitcode(status)
        assert top.returncode == 0, top.returncode
        usages.append((usage.ru_utime + usage.ru_stime) / (time.monotonic() - start))

    # Of a workload that failed there may never be a file to wait for.
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield
    watcher.join()


def in_turn(rounds, variants):
    """variants: name -> function of the round.  Returns name -> list of results."""
    results = {name: [] for name in variants}
    for number in range(rounds):
        for name, run in variants.items():
            print(f"recorder: {name}, round {number + 1} of {rounds}", file=sys.stderr)
            results[name].append(run(number))
    return results


def medians(results):
    """A list of equal dictionaries -> one of medians."""
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def callgrind(folder):
    """The words before a command whose instructions `counted` adds up."""
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind.out'}.%p"]


def counted(folder):
    return sum(int(number) for file in folder.glob("callgrind.out*")
               for number in re.findall(r"^(?:summary|totals): (\d+)", file.read_text(), re.M)[:1])


def count_instructions(folder, arguments, is_recorded):
    database = folder / "callgrind.db" if is_recorded else None
    wrapper = [*callgrind(folder), "--toggle-collect=bench_event", "--trace-children=yes"]
    workload(*arguments, database=database, collect=False, wrapper=wrapper)
    number = counted(folder)
    for file in folder.glob("callgrind.*"):
        file.unlink()
    return number


def instructions(folder, fewer, more, number, is_recorded=True):
    """
    Instructions per event, by callgrind: what `more` runs beyond `fewer`, over the `number` of events between them.
    None where there is no valgrind.
    """
    if not shutil.which("valgrind"):
        return None
    return (count_instructions(folder, more, is_recorded) - count_instructions(folder, fewer, is_recorded)) / number


def collect(journal):
    """(processor seconds of the collector, of them in the kernel) for a journal whose program is gone."""
    before = os.times()
    subprocess.run([str(VTRACE), "collect", "--foreground", str(journal)], check=True, env=clean_environment(),
                   timeout=TIMEOUT_S)
    after = os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return user + system, system


def collect_instructions(folder, journal):
    """Instructions of the collector for that journal, which stays as it is; None where there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        copied = pathlib.Path(shutil.copy(journal, scratch))
        subprocess.run([*callgrind(copied.parent), str(VTRACE), "collect", "--foreground", str(copied)], check=True,
                       env=clean_environment(), capture_output=True, timeout=TIMEOUT_S)
        return counted(copied.parent)


def depths(database):
    """Median depth of the stacks that were recorded, over events: (Python, native)."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return tuple(statistics.median(row[0] for row in connection.execute(
            f"SELECT s.depth FROM allocation a JOIN {kind}_stack s ON s.id = a.{kind}_stack"))
            for kind in ("python", "native"))
