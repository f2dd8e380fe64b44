# SPDX-License-Identifier: MIT
"""SIGKILL at a random moment of a training run: what the ledger had is in the database after the next command."""
import os
import random
import signal
import sqlite3
import subprocess
import time

import pytest

from recording import MARKERS, PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, read_ledger, vtrace

QUICK_SEEDS = range(5)
ALL_SEEDS = range(50)
SCRIPT = WORKLOADS / "marked_training.py"


def start(directory):
    # Uncached: every tensor is a driver allocation, so that the ledger grows all the time.
    environment = clean_environment({"VTRACE_SIM_LEDGER": str(directory / "ledger"),
                                     "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    return subprocess.Popen([VTRACE, "run", "--simulate", "h100-80g", "-o", directory / "run.db", "--", PYTHON, SCRIPT,
                             "--steps", "1000"], cwd=directory, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True)


def program_of(directory, deadline):
    """The pid of the traced program (its main thread's id) once the ledger has its first lines."""
    ledger = directory / "ledger"
    while time.monotonic() < deadline:
        if ledger.exists() and ledger.stat().st_size > 200:
            return read_ledger(ledger).lines[0].thread
        time.sleep(0.002)
    raise AssertionError("the program never allocated anything")


def kill_at_random(directory, seed):
    generator = random.Random(seed)
    parent = start(directory)
    pid = program_of(directory, time.monotonic() + TIMEOUT_S)
    # The moment is what is random here; no result depends on how long it was.
    time.sleep(generator.uniform(0.0, 1.5))
    os.kill(pid, signal.SIGKILL)
    parent.communicate(timeout=TIMEOUT_S)
    return parent.returncode


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[] if seed in QUICK_SEEDS else [pytest.mark.full]) for seed in ALL_SEEDS])
def test_nothing_that_the_ledger_had_is_missing(seed, tmp_path):
    assert kill_at_random(tmp_path, seed) == 128 + signal.SIGKILL
    done = vtrace("report", tmp_path / "run.db")
    assert done.returncode == 0, done.stderr

    lines = read_ledger(tmp_path / "ledger").recorded
    threads = {line.thread for line in lines}
    with sqlite3.connect(tmp_path / "run.db") as database:
        events = database.execute(f"SELECT thread, op, address FROM driver_event WHERE op NOT IN {MARKERS}"
                                  " ORDER BY event").fetchall()
    for thread in threads:
        theirs = [(line.op, line.pointer) for line in lines if line.thread == thread]
        ours = [(op, address) for t, op, address in events if t == thread]
        # One may be in flight on either side: a free is recorded before the driver is asked, an allocation after.
        assert abs(len(ours) - len(theirs)) <= 1
        common = min(len(ours), len(theirs))
        assert ours[:common] == theirs[:common]
