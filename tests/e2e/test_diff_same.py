# SPDX-License-Identifier: MIT
"""Two runs of one program differ by nothing, however its threads, workers and processes took turns."""
import json

import pytest

from ranks import train
from recording import PYTHON, WORKLOADS, record, vtrace

PROGRAMS = ("loader", "lengths", "transformers", "generation", "threads")
QUICK = ("loader",)
OF_TRANSFORMERS = ("transformers", "generation")


def check_same(base, new):
    done = vtrace("diff", base, new, "--fail-on", "any")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "\nall owners and call sites have the same bytes" in done.stdout
    found = json.loads(vtrace("diff", base, new, "--json").stdout)
    assert found["is_different"] is False and found["devices"][0]["places_equal"] > 5


@pytest.mark.parametrize("program", [p if p in QUICK else pytest.param(p, marks=pytest.mark.full) for p in PROGRAMS])
def test_two_runs_of_a_program(program, tmp_path):
    if program in OF_TRANSFORMERS:
        pytest.importorskip("transformers")
    sides = []
    for side in ("base", "new"):
        (tmp_path / side).mkdir()
        sides.append(record(tmp_path / side, PYTHON, WORKLOADS / "same_memory.py", program))
        assert sides[-1].process.returncode == 0, sides[-1].process.stderr
    check_same(sides[0].database, sides[1].database)


@pytest.mark.full
def test_two_runs_of_two_ranks(tmp_path):
    for side in ("base", "new"):
        (tmp_path / side).mkdir()
        train(tmp_path / side, 2)
    for rank in (0, 1):
        check_same(tmp_path / "base" / f"run.rank{rank}.db", tmp_path / "new" / f"run.rank{rank}.db")
