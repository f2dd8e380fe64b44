# SPDX-License-Identifier: MIT
"""tests/crash/client.c under the recorder, its books, and tests/crash/killer.c to end it."""
import bisect
import functools
import json
import mmap
import os
import pathlib
import sqlite3
import struct
import subprocess
import time

from recording import BUILD, LIBRARY, MARKERS, TIMEOUT_S, clean_environment, vtrace

PROGRAMS = BUILD / "tests" / "crash"
CLIENT, KILLER = PROGRAMS / "client", PROGRAMS / "killer"
DRIVER_FOLDER = BUILD / "tests" / "preload"
LEDGER_CALLS = 131072
LEDGER_THREAD_BYTES = 16 + 16 * LEDGER_CALLS
HEAD, STATE, EXIT_TIME, IMPORTED, IMPORTER = 64, 80, 96, 128, 156
EXITING = 2
# Of the memory that the device has in use, each an event: one for each eighth more that was allocated.
MOST_SAMPLES = 60


def environment(directory, **extra):
    """For a program that is linked to the driver of tests/preload, or finds it by name."""
    return clean_environment({"LD_LIBRARY_PATH": str(DRIVER_FOLDER), "LD_PRELOAD": str(LIBRARY),
                              "VTRACE_OUTPUT": str(directory / "run.db"), "VTRACE_QUIET": "1", **extra})


class Victim:
    """The client, or another command; after `pause` calls it waits for end() or process.communicate()."""

    def __init__(self, directory, threads=1, calls=1, is_collected=True, command=None, pause=0, **extra):
        self.directory, self.journal = directory, directory / "run.journal"
        command = command or (CLIENT, directory / "ledger", threads, calls, pause)
        self.process = subprocess.Popen([str(word) for word in command], cwd=directory, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment(directory, VTRACE_COLLECT=str(int(is_collected)), **extra))
        self.header = None

    def field(self, offset, form):
        """Of the journal's header, 0 while there is none; the last that it had once it is deleted."""
        if self.header is None:
            try:
                with open(self.journal, "rb") as file:
                    self.header = mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                return 0
        return struct.unpack_from(form, self.header, offset)[0]

    head = property(lambda self: self.field(HEAD, "<Q"))
    imported = property(lambda self: self.field(IMPORTED, "<Q"))
    importer = property(lambda self: self.field(IMPORTER, "<I"))
    exit_time_ns = property(lambda self: self.field(EXIT_TIME, "<Q"))
    is_exiting = property(lambda self: self.field(STATE, "<I") == EXITING)

    def wait_until(self, question):
        """Returns whether it came true before the program ended.  Turns without sleeping: the moment is the point."""
        deadline = time.monotonic() + TIMEOUT_S
        while not question():
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < deadline
        return True

    def threads(self):
        try:
            return sorted(int(name) for name in os.listdir(f"/proc/{self.process.pid}/task"))
        except OSError:
            return []

    def end(self):
        self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode

    def kill(self):
        self.process.kill()
        return self.end()


def read_books(directory):
    """{thread: [(address, size or 0 for a free)]} of the calls that returned."""
    path = directory / "ledger"
    data = path.read_bytes() if path.exists() else b""
    books = {}
    for at in range(0, len(data) - 15, LEDGER_THREAD_BYTES):
        thread, nr_calls = struct.unpack_from("<QQ", data, at)
        if nr_calls:
            words = struct.unpack_from(f"<{2 * nr_calls}Q", data, at + 16)
            books[thread] = list(zip(words[::2], words[1::2]))
    return books


def check_books(directory):
    """What the database has of each thread is what its books have, and at most the call it was in."""
    books = read_books(directory)
    with sqlite3.connect(f"file:{directory / 'run.db'}?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        run = dict(database.execute("SELECT key, value FROM run"))
        rows = database.execute("SELECT thread, address, iif(op = 'free', 0, size_bytes) FROM driver_event"
                                f" WHERE op NOT IN {MARKERS} ORDER BY event").fetchall()
    ours = {}
    for thread, address, size in rows:
        ours.setdefault(thread, []).append((address, size))
    assert set(books) <= set(ours)
    for thread, calls in ours.items():
        theirs = books.get(thread, [])
        assert calls[:len(theirs)] == theirs, thread
        assert len(calls) - len(theirs) <= 1, thread
    assert run["lost_events"] == run["reused_addresses"] == run["unknown_frees"] == "0", run
    return run


@functools.cache
def functions_of(path):
    """Sorted (offset in the file, name) of an object's functions."""
    listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=False).stdout
    listed += subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=False).stdout
    rows = (line.split() for line in listed.splitlines())
    return sorted({(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwWiu"})


class Place:
    """Where the killer struck."""

    def __init__(self, printed):
        words = printed.split()
        self.is_struck, self.stops = words[0] == "killed", int(words[1])
        self.object = self.function = "ended"
        self.system_call = int(words[3]) if self.is_struck else -1
        if not self.is_struck:
            return
        path, _, offset = words[2].rpartition("+")
        self.object = pathlib.Path(path).name or words[2]
        functions = functions_of(path) if path.startswith("/") else []
        at = bisect.bisect_right(functions, (int(offset, 16), "~")) - 1 if functions else -1
        self.function = functions[at][1] if at >= 0 else self.object


def strike(what, stops, steps, *command, env=None):
    done = subprocess.run([str(word) for word in (KILLER, *what, stops, steps, *command)], env=env,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return Place(done.stdout.splitlines()[-1])


def finish(directory):
    """The second command: brings the database to its end."""
    done = vtrace("info", "--json", directory / "run.db")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
