# SPDX-License-Identifier: MIT
"""Recordings of several ranks: real data-parallel training on the simulator, and what to change in them."""
import json
import sqlite3

from recording import PYTHON, WORKLOADS, complete, vtrace

SCRIPT = WORKLOADS / "train_ranks.py"


def train(directory, ranks, *options, code=0):
    """torchrun under `vtrace run`, a device for each rank: recordings of a program's children."""
    done = vtrace("run", "--simulate", f"h100-80g,count={ranks}", "-q", "-o", "run.db", "--", PYTHON, "-m",
                  "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, SCRIPT, *options, cwd=directory,
                  env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == code, done.stdout + done.stderr
    assert "not recording" not in done.stderr
    complete(directory)
    return directory


def report(directory, *options):
    done = vtrace("report", directory, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def owner(ranks, name):
    return next(row for row in ranks["owners"] if row["owner"] == name)


def change(path, **facts):
    """Other facts of the run."""
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)",
                               [(key, str(value)) for key, value in facts.items()])
    connection.close()
