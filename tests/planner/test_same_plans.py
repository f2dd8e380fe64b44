# SPDX-License-Identifier: MIT
"""tests/planner/same_plans, which says whether a change of formulas changes plans."""
import pathlib
import subprocess

from recording import PYTHON, TIMEOUT_S, VTRACE

COMMAND = pathlib.Path(__file__).parent / "same_plans"


def same_plans(before, after):
    few = ("--models", 4, "--each", 0, "--rounds", 12)
    return subprocess.run([PYTHON, COMMAND, *map(str, (*few, before, after))], capture_output=True, text=True,
                          timeout=TIMEOUT_S)


def test_a_build_plans_as_itself():
    done = same_plans(VTRACE, VTRACE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("4 models, 28 plans; exit codes {0: ") and done.stdout.endswith("different: 0\n")


def test_a_plan_that_differs_is_shown(tmp_path):
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\n{VTRACE} "$@" | sed s/embeddings/beddings/\n')
    other.chmod(0o755)
    done = same_plans(VTRACE, other)
    assert done.returncode == 1 and not done.stdout.endswith("different: 0\n"), done.stdout + done.stderr
    assert "differs: vtrace estimate " in done.stdout and "beddings" in done.stdout
