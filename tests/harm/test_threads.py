# SPDX-License-Identifier: MIT
"""64 threads that allocate while others of their program begin and end: every event is there, none is lost."""
import collections
import sqlite3

import pytest

from recording import BUILD, record, vtrace

HARM = BUILD / "tests/harm"
THREADS, TURNS = 64, 10


def facts(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        run = dict(connection.execute("SELECT key, value FROM run"))
        made, freed, threads = connection.execute("SELECT count(*), count(freed_event), count(DISTINCT freed_thread)"
                                                  " FROM allocation").fetchone()
    assert run["lost_events"] == run["torn_records"] == run["unknown_frees"] == "0"
    return made, freed, threads


def ledger_calls(path):
    """(operation, thread, address) -> how often; of a ledger that is large for recording.read_ledger()."""
    calls, threads = collections.Counter(), {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[:2] == ["#", "thread"]:
                threads[words[2]] = int(words[4])
            elif words[1] in ("alloc", "free") and words[2] == "device":
                calls[words[1], threads[words[3]], int(words[4], 16)] += 1
    return calls


def test_the_ledger_has_the_same(tmp_path):
    calls = 5000
    recording = record(tmp_path, HARM / "host", THREADS, calls)
    assert recording.process.returncode == 0, recording.process.stderr
    assert int(recording.process.stdout) == 2 * THREADS * calls
    of_driver = ledger_calls(recording.ledger)
    recorded = collections.Counter()
    for *key, number in recording.query("SELECT op, thread, address, count(*) FROM driver_event WHERE op IN"
                                        " ('alloc', 'free') GROUP BY op, thread, address"):
        recorded[tuple(key)] += number
    assert recorded == of_driver and sum(recorded.values()) == 2 * THREADS * calls
    assert facts(recording.database) == (THREADS * calls, THREADS * calls, THREADS * TURNS)


@pytest.mark.full
@pytest.mark.parametrize("stacks", ["0", "128"])
def test_a_million_of_each(tmp_path, stacks):
    """A ledger of that size would be larger than the record: the program's own count is the truth."""
    calls = 500000
    done = vtrace("run", "-q", "-o", "run.db", "--", HARM / "host", THREADS, calls, cwd=tmp_path, timeout=3000,
                  env={"LD_LIBRARY_PATH": str(HARM / "driver"), "VTRACE_STACKS": stacks, "VTRACE_EXIT_WAIT": "3000"})
    assert done.returncode == 0 and int(done.stdout) == 2 * THREADS * calls, done.stderr
    assert facts(tmp_path / "run.db") == (THREADS * calls, THREADS * calls, THREADS * TURNS)
