# SPDX-License-Identifier: MIT
"""The environment is read at the first allocation, whatever the program does to it (environment.c)."""
import subprocess

import journal
from recording import BUILD, LIBRARY, TIMEOUT_S, clean_environment

HARM = BUILD / "tests/harm"
ROUNDS = 60


def run(folder, mode):
    environment = clean_environment({"LD_LIBRARY_PATH": str(HARM / "driver"), "LD_PRELOAD": str(LIBRARY),
                                     "VTRACE_OUTPUT": "run.db", "VTRACE_COLLECT": "0"})
    done = subprocess.run([HARM / "environment", mode], env=environment, cwd=folder, capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "events, 0 lost" in done.stderr


def test_a_variable_that_is_gone(tmp_path):
    run(tmp_path, "gone")
    assert len(journal.read(tmp_path / "run.journal").events) == 2


def test_a_thread_that_changes_it(tmp_path):
    for _ in range(ROUNDS):
        run(tmp_path, "changes")
    # What VTRACE_COLLECT says can be gone as well: then there is a database.
    recorded = {path.stem for path in tmp_path.iterdir() if path.suffix in (".journal", ".db")}
    assert len(recorded) == ROUNDS


def test_a_program_that_sets_it_itself(tmp_path):
    run(tmp_path, "set")
    assert journal.read(tmp_path / "mine.own.journal").info["env:PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
