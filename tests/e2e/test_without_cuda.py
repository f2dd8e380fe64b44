# SPDX-License-Identifier: MIT
"""A program without CUDA meets nothing of us: no output, no file, no change of its exit code."""
import subprocess

import pytest

from recording import LIBRARY, TIMEOUT_S, clean_environment

COMMANDS = {
    "true": ["/bin/true"],
    "false": ["/bin/false"],
    "shell": ["sh", "-c", "echo out; echo err >&2; exit 7"],
    "python": ["python3", "-c", "import sqlite3; print(sqlite3.connect(':memory:').execute('select 1').fetchone())"],
    "compiler": ["gcc", "-x", "c", "-", "-o", "program"],
}
PROGRAM = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n"


def outcome(command, directory, preload):
    extra = {"LD_PRELOAD": str(LIBRARY)} if preload else {}
    done = subprocess.run(command, cwd=directory, env=clean_environment(extra), input=PROGRAM, capture_output=True,
                          text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_changes_and_nothing_is_left_behind(name, tmp_path):
    plain, traced = tmp_path / "plain", tmp_path / "traced"
    plain.mkdir()
    traced.mkdir()
    assert outcome(COMMANDS[name], traced, True) == outcome(COMMANDS[name], plain, False)
    assert sorted(p.name for p in traced.iterdir()) == sorted(p.name for p in plain.iterdir())


def test_the_library_was_really_loaded(tmp_path):
    """Without this the cases above would pass with a library that the loader refused."""
    done = subprocess.run(["cat", "/proc/self/maps"], env=clean_environment({"LD_PRELOAD": str(LIBRARY)}),
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert str(LIBRARY) in done.stdout
