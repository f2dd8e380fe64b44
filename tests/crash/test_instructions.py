# SPDX-License-Identifier: MIT
"""SIGKILL of the program, the collector, both, and of commands that finish the import, at random instructions.

Nothing that had been recorded is lost, the next command finishes the import, and the database is whole. Each
seed is a run of its own.
"""
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import struct

import pytest

from recording import VTRACE, clean_environment, vtrace
from victim import CLIENT, Victim, check_books, environment, finish, read_books, strike

QUICK, ALL = 32, 1000
MOST_STEPS = 4000  # instructions; an event is about 1500
CHUNK_SLOTS = 65536
# System calls of the importer (x86-64), and how many stops in them: fallocate punches what was recycled, ftruncate,
# fsync and fdatasync end a log, unlink deletes logs and the journal, renameat2 gives the database its name.
OPENAT, FALLOCATE = 257, 285
RARE_CALLS = ((FALLOCATE, 4), (FALLOCATE, 4), (FALLOCATE, 4), (77, 6), (74, 3), (75, 3), (87, 9), (316, 2))


def log_uniform(generator, most):
    return int(most ** generator.random())


class Run:
    def __init__(self, directory, seed):
        self.directory, self.random = directory, random.Random(seed)
        self.struck = []

    def strike(self, who, what, most_stops, *command, call=None, env=None, least_stops=0):
        steps = self.random.randrange(MOST_STEPS) if self.random.random() < 0.7 else 0
        stops = self.random.randrange(least_stops, most_stops + 1)
        place = strike(what, f"{call}:{stops + 1}" if call else stops, steps, *command, env=env)
        self.struck.append((who, place))
        return place

    def victim(self, is_collected=True):
        # Up to 12 MiB of journal: three chunks, so that some are recycled.
        threads = self.random.choice((1, 2, 4))
        return Victim(self.directory, threads, self.random.choice((4000, 20000, 80000)) // threads, is_collected)

    def strike_program(self, victim):
        """Somewhere between its first event and its last."""
        wanted = log_uniform(self.random, 3 * CHUNK_SLOTS)
        if victim.wait_until(lambda: victim.head >= wanted) and victim.threads():
            thread = self.random.choice(victim.threads())
            # Or where the journal grows: the thread goes on until it is its turn.
            call = self.random.choice((None, None, OPENAT, FALLOCATE))
            self.strike("program", ("attach", thread), 1 if call else 0, call=call)

    def strike_collector(self, victim):
        wanted = log_uniform(self.random, 3 * CHUNK_SLOTS) if self.random.random() < 0.7 else 0
        if victim.wait_until(lambda: victim.importer and victim.imported >= wanted) and victim.importer:
            self.strike_importer("collector", ("attach", victim.importer), 400)

    def strike_importer(self, who, what, most_stops, *command, env=None):
        """Anywhere, or where something is made, given back or deleted: so rare that chance would not find it."""
        if self.random.random() < 0.6:
            self.strike(who, what, most_stops, *command, env=env)
        else:
            call, most_stops = self.random.choice(RARE_CALLS)
            self.strike(who, what, most_stops, *command, call=call, env=env)

    def strike_command(self):
        # Loading takes 150 stops; the journal is deleted after 2,000 or, if it is large, 8,000.
        self.strike_importer("import", ("run",), self.random.choice((300, 2000, 2000, 8000)), VTRACE, "info", "--json",
                             self.directory / "run.db", env=clean_environment())


def kill_the_program(run):
    victim = run.victim()
    run.strike_program(victim)
    victim.end()


def kill_it_while_it_opens(run):
    # Loading takes 150 stops at least; from about 350 on it waits for its collector.
    run.strike("opening", ("run",), 400, CLIENT, run.directory / "ledger", 1, 300, env=environment(run.directory),
               least_stops=150)


def kill_it_while_it_exits(run):
    victim = run.victim()
    # Its end waits for the collector, which has been stopped.
    if victim.wait_until(lambda: victim.importer):
        with contextlib.suppress(ProcessLookupError):  # it was faster
            collector = victim.importer
            os.kill(collector, signal.SIGSTOP)
            if victim.wait_until(lambda: victim.is_exiting):
                run.strike("exiting", ("attach", victim.process.pid), 60)
            os.kill(collector, signal.SIGCONT)
    victim.end()


def kill_the_collector(run):
    victim = run.victim()
    run.strike_collector(victim)
    victim.end()


def kill_both(run):
    victim = run.victim()
    for strike_one in run.random.sample((run.strike_program, run.strike_collector), 2):
        strike_one(victim)
    victim.kill()


def kill_the_import(run):
    victim = run.victim(is_collected=False)
    run.strike_program(victim)
    victim.end()
    for _ in range(run.random.choice((1, 1, 3))):
        if (run.directory / "run.journal").exists():
            run.strike_command()


WAYS = (kill_the_program, kill_it_while_it_opens, kill_it_while_it_exits, kill_the_collector, kill_both,
        kill_the_import, kill_the_import, kill_the_collector)


def has_begun(directory):
    """Whether there is a journal with a header, or a database."""
    journal = directory / "run.journal"
    if (directory / "run.db").exists():
        return True
    return journal.exists() and struct.unpack_from("<Q", journal.read_bytes()[:8].ljust(8, b"\0"))[0] != 0


def run_one(directory, seed):
    directory.mkdir()
    run = Run(directory, seed)
    WAYS[seed % len(WAYS)](run)
    if has_begun(directory):
        finish(directory)
        check_books(directory)
        assert not (directory / "run.journal").exists()
        # Once more, now that all is done: nothing changes.
        assert vtrace("info", directory / "run.db").returncode == 0
    else:
        # Killed before there was a recording: at most the first call has been made.
        assert sum(map(len, read_books(directory).values())) == 0
    shutil.rmtree(directory)
    return run.struck


def group(who, place):
    """Which piece of work it was."""
    calls = {1: "write", 18: "write", 285: "allocate or recycle", 74: "sync", 75: "sync", 87: "delete", 263: "delete",
             316: "rename", 77: "truncate", 257: "open", 3: "close", 9: "map", 56: "start the collector", 230: "wait",
             59: "execute"}
    if place.object.startswith("libsqlite3"):
        work = "SQLite"
    elif place.object.startswith("ld-linux"):
        work = "loading" if who != "program" else "resolving symbols"
    elif place.object in ("libvtrace.so", "vtrace", "client"):
        work = f"{place.object}:{place.function}"
    elif place.object.startswith("libc.") and place.system_call in calls:
        work = f"system call: {calls[place.system_call]}"
    else:
        work = place.object
    return f"{who}: {work}"


def run_many(directory, seeds):
    """How often each place was struck."""
    places = collections.Counter()
    for seed in seeds:
        try:
            struck = run_one(directory / f"seed-{seed}", seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {WAYS[seed % len(WAYS)].__name__}: {error}") from error
        places.update(group(who, place) for who, place in struck)
    return places


def struck_by(places, who):
    return sum(nr for place, nr in places.items() if place.startswith(who) and not place.endswith("ended"))


def test_quick_seeds_lose_nothing(tmp_path):
    places = run_many(tmp_path, range(QUICK))
    assert all(struck_by(places, who) for who in ("program", "opening", "exiting", "collector", "import")), places


@pytest.mark.full
def test_all_seeds_lose_nothing(tmp_path):
    places = run_many(tmp_path, range(ALL))
    print(json.dumps(dict(places.most_common()), indent=0))
    assert all(struck_by(places, who) >= 50 for who in ("program", "opening", "exiting", "collector", "import"))
    # In the places that matter, by name: an event's road, growth, import, recycling, the end of an import.
    for part in ("program: libvtrace.so:", "program: system call: allocate", "collector: SQLite", "collector: vtrace:",
                 "collector: system call: allocate or recycle", "import: SQLite", "import: system call: delete"):
        assert any(place.startswith(part) for place in places), part
