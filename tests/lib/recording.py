# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: run a program under vtrace, open what came out, read the simulator's ledger."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VTRACE_BUILD", SOURCE / "build")).absolute()
VTRACE = BUILD / "vtrace"
LIBRARY = BUILD / "libvtrace.so"
WORKLOADS = SOURCE / "tests" / "workloads"
PYTHON = sys.executable
TIMEOUT_S = 900  # of what hangs: far above what a command takes on a slow machine with other work


def clean_environment(extra=None):
    """The environment without anything of ours or of PyTorch's settings that a developer may have set.

    A program's end waits for its database as long as a test may take: the usual ten seconds are for users, and may be
    over on a slow machine before the last event is in.
    """
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("VTRACE_", "PYTORCH_", "LD_PRELOAD")) or k == "VTRACE_CACHE"}
    kept["VTRACE_EXIT_WAIT"] = str(TIMEOUT_S)
    kept.update(extra or {})
    return kept


def vtrace(*arguments, cwd=None, env=None, timeout=TIMEOUT_S, input=""):
    return subprocess.run([str(VTRACE), *map(str, arguments)], cwd=cwd, env=clean_environment(env),
                          capture_output=True, text=True, timeout=timeout, input=input)


def complete(directory):
    """The databases in it, brought to their end. `vtrace run` does so for the program that it started, not for others.

    Each journal has a collector until it is deleted, and the command waits for that one. The programs must have ended:
    of one that lives its database would be read as it is.
    """
    for journal in directory.glob("*.journal"):
        done = vtrace("info", journal)
        assert done.returncode == 0, done.stderr
        assert not journal.exists(), f"{journal}: is being written"
    return sorted(directory.glob("*.db"))


def make_allocations_writable(connection):
    """For this connection, as the view that a program reads has one row for what stands in three tables."""
    connection.executescript((SOURCE / "tests" / "lib" / "writable_allocations.sql").read_text())


# What the recorder intercepts; the ledger also has contexts, arrays and handles that died with their last mapping.
RECORDED_OPS = {"alloc", "free", "reserve", "unreserve", "map", "unmap", "release", "retain"}
RECORDED_KINDS = {"device", "managed", "host", "registered", "pool", "vmm", "address"}


# Events that are no change of memory, as a list in SQL.
MARKERS = ("('memory_info', 'capture_begin', 'capture_end', 'instantiate', 'create', 'destroy', 'bind', 'unbind',"
           " 'free_node', 'trim', 'set', 'use', 'load', 'unload', 'loss')")


@dataclass
class LedgerLine:
    op: str
    kind: str
    thread: int
    pointer: int
    size: int
    device: int
    used: int
    function: str

    @property
    def is_recorded(self):
        return self.op in RECORDED_OPS and self.kind in RECORDED_KINDS


@dataclass
class Ledger:
    lines: list
    peak: dict

    @property
    def recorded(self):
        return [line for line in self.lines if line.is_recorded]


def read_ledger(path):
    """The whole ledger; `peak` maps a device to its highest use and is empty when the program was killed."""
    lines, threads, peak = [], {}, {}
    for text in pathlib.Path(path).read_text().splitlines(keepends=True):
        words = text.split()
        if words[:2] == ["#", "thread"]:
            threads[int(words[2])] = int(words[4])
        elif words[:3] == ["#", "summary", "device"]:
            peak[int(words[3])] = int(words[7])
        elif words[0] != "#" and text.endswith("\n"):
            _, op, kind, thread, pointer, size, _, device, used, function = words
            lines.append(LedgerLine(op, kind, threads[int(thread)], int(pointer, 16), int(size), int(device), int(used),
                                    function))
    return Ledger(lines, peak)


@dataclass
class Recording:
    directory: pathlib.Path
    database: pathlib.Path
    ledger: pathlib.Path
    process: subprocess.CompletedProcess

    def read_ledger(self):
        return read_ledger(self.ledger)

    def query(self, sql, *arguments):
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as connection:
            return connection.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        return self.query(sql, *arguments)[0][0]

    def report(self, *options):
        done = vtrace("report", self.database, "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def blocks(self, when, *options):
        done = vtrace("blocks", self.database, "--at", when, "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def frameworks_python():
    """The Python with trainers, triton and IPython; skips the test where it is not in the cache."""
    import pytest  # not everything that uses this file runs where there is one
    found = subprocess.run([str(SOURCE / "scripts" / "torch-venv"), "--cached", "--with-frameworks"],
                           capture_output=True, text=True)
    if found.returncode == 77:
        pytest.skip("no environment with frameworks: scripts/torch-venv --with-frameworks makes it")
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def wheel_python():
    """The Python with prometheus_client; skips the test where it is not in the cache."""
    import pytest  # as above
    found = subprocess.run([str(SOURCE / "scripts" / "wheel-venv"), "--cached"], capture_output=True, text=True)
    if found.returncode:
        pytest.skip("scripts/wheel-venv makes the environment with prometheus_client")
    return found.stdout.strip()


def record(directory, *command, profile="h100-80g", env=None, name="run.db", options=(), timeout=TIMEOUT_S):
    """Run a command under `vtrace run --simulate`, with a ledger beside the database."""
    ledger = directory / "ledger"
    done = vtrace("run", "--simulate", profile, "-o", directory / name, *options, "--", *command, cwd=directory,
                  env={"VTRACE_SIM_LEDGER": str(ledger), **(env or {})}, timeout=timeout)
    return Recording(directory, directory / name, ledger, done)


def record_python(directory, script, *arguments, **keywords):
    return record(directory, PYTHON, WORKLOADS / script, *arguments, **keywords)


def keep_first_inputs(database):
    """As if the probe had seen the first call of a model only: when it looks depends on the machine."""
    with sqlite3.connect(database) as db:
        db.execute("DELETE FROM tensor WHERE role = 8 AND probe > (SELECT min(probe) FROM tensor WHERE role = 8)")
