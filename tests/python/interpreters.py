# SPDX-License-Identifier: MIT
"""The interpreters of other versions that are here.

VTRACE_TEST_PYTHONS may name them, separated by colons; otherwise PATH and pyenv's versions are looked at.
"""
import os
import pathlib
import shutil
import subprocess

import pytest
from recording import TIMEOUT_S, clean_environment

MINORS = range(9, 15)


def version_of(python):
    try:
        done = subprocess.run([str(python), "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                              text=True, timeout=TIMEOUT_S, env=clean_environment())
    except OSError:
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def find_all():
    if "VTRACE_TEST_PYTHONS" in os.environ:
        candidates = os.environ["VTRACE_TEST_PYTHONS"].split(os.pathsep)
    else:
        pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
        candidates = [p for p in [shutil.which(f"python3.{minor}") for minor in MINORS] if p]
        candidates += sorted(pyenv.glob("3.*/bin/python3"))
    found = {}
    for candidate in candidates:
        found.setdefault(version_of(candidate), candidate)
    return found


FOUND = find_all()


def interpreter(minor):
    """The path of a Python 3.`minor`; skips the test where there is none."""
    python = FOUND.get((3, minor))
    if not python:
        pytest.skip(f"no Python 3.{minor} here (VTRACE_TEST_PYTHONS can name one)")
    return str(python)
