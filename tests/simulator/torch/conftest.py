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

# (torch, Python): None stands for what runs the tests, in the second place for its base.
WHEELS = [(None, None), ("2.6.0", None), ("2.15.0", None), ("2.11.0", "3.13")]


def wheel_id(wheel):
    return f"torch-{wheel[0] or 'here'}" + (f"-python-{wheel[1]}" if wheel[1] else "")


def find_interpreter(minor):
    """A Python of that version, on the path or among pyenv's."""
    if minor is None:
        return sys._base_executable
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    for candidate in [f"python{minor}", *sorted(root.glob(f"versions/{minor}.*/bin/python{minor}"))]:
        try:
            if subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
                return str(candidate)
        except OSError:
            pass
    pytest.skip(f"no Python {minor} here")


def find_python(version, minor):
    if version is None:
        return sys.executable
    command = [SOURCE / "scripts" / "torch-venv", "--with-transformers", "--python", find_interpreter(minor), version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(done.stderr)
        pytest.skip(f"torch {version} cannot be had here")
    return done.stdout.strip()


@pytest.fixture(scope="session", ids=wheel_id,
                params=[pytest.param(w, marks=[pytest.mark.full] if w[0] else []) for w in WHEELS])
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
