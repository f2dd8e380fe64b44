# SPDX-License-Identifier: MIT
"""A few programs of tests/frameworks in every test run; all of them are in `scripts/ci frameworks`."""
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def test_owners_stages_and_steps_of_quick_programs():
    environment = {k: v for k, v in os.environ.items() if k != "VTRACE_TEST_PYTHON"}
    done = subprocess.run([HERE / "run", "--quick", "--cached"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=environment)
    if done.returncode == SKIPPED:
        pytest.skip("no environment with frameworks: scripts/torch-venv --with-frameworks makes it")
    assert done.returncode == 0, done.stdout + done.stderr
