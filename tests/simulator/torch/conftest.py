# SPDX-License-Identifier: MIT
"""Running workloads on the simulator alone, without the recorder, under several PyTorch wheels."""
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter

import pytest

from recording import BUILD, SOURCE, TIMEOUT_S, WORKLOADS, clean_environment

# (torch, Python, with transformers); the first is the one that runs the tests.
WHEELS = [("2.11.0", None, True), ("2.6.0", "python3.11", True), ("2.15.0", "python3.11", True),
          ("2.11.0", "python3.13", True)]


def wheel_id(wheel):
    return "torch-" + wheel[0] + ("-" + wheel[1] if wheel[1] else "")


def find_python(version, python, with_transformers):
    if python is None:
        return sys.executable
    command = [SOURCE / "scripts" / "torch-venv", "--python", python]
    if with_transformers:
        command.append("--with-transformers")
    done = subprocess.run([*command, version], capture_output=True, text=True, timeout=1200)
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(done.stderr)
        pytest.skip(f"no {python} with torch {version} here")
    return done.stdout.strip()


@pytest.fixture(scope="session", ids=wheel_id,
                params=[pytest.param(w, marks=[pytest.mark.full] if w[1] else []) for w in WHEELS])
def wheel(request):
    return request.param


@pytest.fixture(scope="session")
def python(wheel):
    return find_python(*wheel)


class Run:
    """A finished process and its driver ledger."""

    def __init__(self, done, ledger):
        self.output, self.errors, self.status = done.stdout, done.stderr, done.returncode
        self.lines = ledger.read_text().splitlines() if ledger.exists() else []

    def calls(self):
        """How often each driver function changed the books."""
        return Counter(line.split()[-1] for line in self.lines if line and not line.startswith("#"))

    def number(self, pattern):
        found = re.search(pattern, self.output)
        assert found, self.output
        return int(found[1])


@pytest.fixture
def simulate(python, tmp_path):
    def run(script, *arguments, profile="h100-80g", **env):
        ledger = tmp_path / "ledger"
        ledger.unlink(missing_ok=True)
        path = script if isinstance(script, pathlib.Path) else WORKLOADS / script
        done = subprocess.run(
            [str(SOURCE / "tests" / "simulator" / "sim-run"), str(BUILD), profile, python, str(path), *arguments],
            cwd=tmp_path, env=clean_environment({"VTRACE_SIM_LEDGER": str(ledger), **env}), capture_output=True,
            text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        return Run(done, ledger)

    def succeed(*arguments, **keywords):
        result = run(*arguments, **keywords)
        assert result.status == 0, result.errors
        return result

    succeed.unchecked = run
    return succeed
