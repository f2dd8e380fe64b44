# SPDX-License-Identifier: MIT
"""What looking at a long recording costs.  README.md says what is measured and how the recordings are made."""
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

from recorder import row, show
from recording import VTRACE, clean_environment
from runs import workload

# Of recordings that are longer than 5 x 10^6 events: seconds of the clock, GiB.
LONG_EVENTS, LONG_S, LONG_GIB = 5 * 10 ** 6, 5, 500 / 1024
LONG = ("report", "oom", "frag", "leaks", "diff", "export, csv")

# Seconds of the clock; report has no such figure.
MOST_S = {"frag": 2, "oom": 2, "leaks": 2, "whatif": 2, "whatif, scaled": 2, "whatif, batch": 2, "report": None,
          "diff": 3, "export, pytorch": 20, "export, perfetto": 20, "export, chrome": 20, "export, kineto": 20,
          "export, memory-timeline": 20, "export, pprof": 20, "export, csv": 20, "diff, many": 20}
MOST_GIB = {"diff, many": 1}
COMMANDS = {
    "frag": ("frag", "{failing}"),
    "oom": ("oom", "{failing}"),
    "leaks": ("leaks", "{failing}"),
    "whatif": ("whatif", "--expandable", "{failing}"),
    "whatif, scaled": ("whatif", "--scale", "activations=0.5", "{failing}"),
    "whatif, batch": ("whatif", "--batch", "x2", "{failing}"),
    "report": ("report", "{failing}"),
    "diff": ("diff", "{failing}", "{second}"),
    **{f"export, {name}": ("export", "--format", name, "-o", "-", "--all", "{failing}")
       for name in ("pytorch", "perfetto", "chrome", "kineto", "memory-timeline", "pprof")},
    "export, csv": ("export", "--format", "csv", "-o", "{csv}", "{failing}"),
    "diff, many": ("diff", "{many}", "{many_second}"),
}


def record(database, layers, events):
    """GPT training with sequences of several lengths; at its end a request that the device refuses."""
    print(f"commands: recording {events:,} events with {layers} layers", file=sys.stderr)
    workload("failing", layers, 256, events, database=database)


# What repeats is moved on by all event numbers and all of the time: as many more steps of the same program. What was
# alive at the end stays alive in the first part only as long as there. Bases are of 256 numbers.
REPEAT = """
INSERT INTO allocation_base SELECT id + {by} / 256, time_ns + {time}, address, sequence, allocated_bytes
 FROM allocation_base WHERE id <= {last} / 256;
INSERT INTO allocation_row SELECT {columns} FROM allocation_row WHERE id <= {last} AND lived_events NOTNULL;
INSERT INTO allocator_reserved SELECT device, event + {by}, reserved_bytes FROM allocator_reserved
 WHERE event <= {last};
INSERT INTO mark SELECT event + {by}, time_ns + {time}, thread, kind, source, name, python_stack FROM mark
 WHERE event <= {last};
"""


def repeat(source, database, events):
    """A recording of `events` events or a few more, not a real one: `source` over and over, as rows."""
    print(f"commands: repeating up to {events:,} events", file=sys.stderr)
    database.write_bytes(source.read_bytes())
    with sqlite3.connect(database, isolation_level=None) as connection:
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        last, time_ns = connection.execute(
            "SELECT max(max(id), max(freed_event)), max(time_ns) - min(time_ns) FROM allocation").fetchone()
        names = [name for _, name, *_ in connection.execute("PRAGMA table_info(allocation_row)")]
        step = (last // 256 + 1) * 256
        times = -(-events // step)
        for number in range(1, times):
            by = number * step
            columns = ", ".join(f"{name} + {by}" if name == "id" else name for name in names)
            connection.executescript(REPEAT.format(columns=columns, last=last, by=by, time=number * time_ns))
        connection.execute("UPDATE run SET value = ? WHERE key = 'events'", (str(step * times),))
    connection.close()


class Recordings:
    """Made when first asked for, and left where --keep says."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options

    def __getitem__(self, name):
        if name == "csv":  # a folder that is not there yet
            return tempfile.mkdtemp(prefix="csv-", dir=self.folder) + "/tables"
        path = self.folder / f"{name}.db"
        if not path.exists():
            if name.startswith("many"):
                repeat(pathlib.Path(self["second" if name.endswith("second") else "failing"]), path, self.options.many)
            else:
                # The second has one more layer: something to be compared with the first.
                record(path, 7 if name == "second" else 6, self.options.events)
        return str(path)


def number_of(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT value FROM run WHERE key = 'events'").fetchone()[0])


def once(command):
    """(processor seconds, seconds, GiB at the most), of one run."""
    start = os.times()
    process = subprocess.Popen([str(VTRACE), *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=clean_environment(), text=True)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"commands: vtrace {' '.join(command)}: exit {process.returncode}\n{error}")
    return usage.ru_utime + usage.ru_stime, os.times().elapsed - start.elapsed, usage.ru_maxrss / 2 ** 20


def read_by_sqlite(path):
    """Processor seconds of counting and adding up the same table: what the machine is worth at this moment."""
    rounds, start = 0, time.process_time()
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        while not rounds or time.process_time() - start < 0.1:
            connection.execute("SELECT count(*), sum(size_bytes) FROM allocation").fetchone()
            rounds += 1
    connection.close()
    return (time.process_time() - start) / rounds


def run_both(words, recordings):
    """A run, and sqlite3's time with it; what it wrote is gone."""
    command = [word.format_map(recordings) for word in words]
    cpu_s, wall_s, gib = once(command)
    if "-o" in command and command[command.index("-o") + 1] != "-":
        shutil.rmtree(pathlib.Path(command[command.index("-o") + 1]).parent)
    return cpu_s, wall_s, gib, cpu_s / read_by_sqlite(command[-1])


def measure(name, recordings, rounds):
    path = COMMANDS[name][-1].format_map(recordings)
    # Read once before: the file is in memory, as it is when it was just written.
    once(["info", path])
    runs = [run_both(COMMANDS[name], recordings) for _ in range(rounds)]
    cpu_s, wall_s, gib, ratio = (statistics.median(values) for values in zip(*runs))
    events = number_of(path)
    is_long = events > LONG_EVENTS and name in LONG
    return [row(f"{name}, clock", wall_s, "s", LONG_S if is_long else MOST_S[name], f"{events:,} events"),
            row("... processors", cpu_s, "s"), row("... times sqlite3", ratio, ""),
            row("... memory", gib, "GiB", LONG_GIB if is_long else MOST_GIB.get(name))]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", metavar="COMMAND",
                        help=f"default: all but what needs --many: {', '.join(COMMANDS)}")
    parser.add_argument("--events", type=int, default=10 ** 6)
    parser.add_argument("--many", type=int, default=0, help="events of the two largest, 10000000 for the bound")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the recordings there, and use those that are there")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    for name in options.commands:
        if name not in COMMANDS:
            parser.error(f"no command {name}")
    return options


def main():
    options = parse()
    wanted = options.commands or [name for name in COMMANDS if options.many or not name.endswith("many")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="vtrace-bench-") as folder:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        recordings = Recordings(options.keep or pathlib.Path(folder), options)
        for name in wanted:
            found = measure(name, recordings, options.rounds)
            show(found)
            rows += found
    if options.json:
        options.json.write_text(json.dumps({"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg(),
                                            "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
