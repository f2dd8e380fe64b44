# SPDX-License-Identifier: MIT
"""The recorder's walk of Python frames, and the analyzer's lines, against the interpreters that are here."""
import json
import sqlite3
import subprocess

import pytest
from interpreters import MINORS, interpreter
from recording import BUILD, SOURCE, TIMEOUT_S, clean_environment, vtrace
from simulated import trace

HERE = SOURCE / "tests" / "python"
PROBE = BUILD / "tests" / "python" / "python_probe.so"


@pytest.mark.parametrize("minor", MINORS)
def test_stack_is_the_interpreters_own(minor):
    done = subprocess.run([interpreter(minor), str(HERE / "stack_program.py"), str(PROBE)], capture_output=True,
                          text=True, timeout=TIMEOUT_S, env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    # A program that stopped half way has not compared everything.
    assert done.stdout.splitlines()[-1] == "ok version_is_known"


def stack_of(database, number):
    """[(function, line), ...], innermost first."""
    node, frames = database.execute("SELECT leaf FROM python_stack WHERE id = ?", (number,)).fetchone()[0], []
    while node:
        node, name, line = database.execute(
            "SELECT n.parent, c.name, f.line FROM python_node n JOIN python_frame f ON f.id = n.frame"
            " JOIN python_code c ON c.id = f.code WHERE n.id = ?", (node,)).fetchone()
        frames.append((name.rpartition(".")[2], line))
    return frames


@pytest.mark.parametrize("minor", MINORS)
def test_lines_in_the_database_are_the_interpreters(minor, tmp_path):
    done, written = trace(tmp_path, interpreter(minor), HERE / "line_program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = {int(mib): [tuple(f) for f in frames] for mib, frames in json.loads(done.stdout).items()}
    imported = vtrace("info", tmp_path / "run.journal")
    assert imported.returncode == 0, imported.stderr
    with sqlite3.connect(f"file:{tmp_path / 'run.db'}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT size_bytes >> 20, python_stack FROM allocation").fetchall()
        found = {mib: stack_of(database, stack)[1:] for mib, stack in rows if stack}
    assert found == wanted
    assert set(wanted) == set(range(1, 14))
    assert written.info["python"].startswith(f"3.{minor}.")
