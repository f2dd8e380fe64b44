# SPDX-License-Identifier: MIT
"""Runs a program on the simulated device with libvtrace.so alone: no collector, the journal stays."""
import json
import subprocess

import journal
from recording import BUILD, LIBRARY, PYTHON, SOURCE, TIMEOUT_S, WORKLOADS, clean_environment


def torch_python(version):
    """The Python of another PyTorch; made (0.5 GB) if it is not there."""
    script = SOURCE / "scripts" / "torch-venv"
    return subprocess.run([str(script), version], check=True, capture_output=True, text=True).stdout.strip()


def trace(directory, *command, profile="h100-80g", env=None):
    """(finished process, journal or None)."""
    extra = {"VTRACE_PRELOAD": str(LIBRARY), "VTRACE_COLLECT": "0", "VTRACE_OUTPUT": str(directory / "run.db"),
             **(env or {})}
    launcher = SOURCE / "tests" / "simulator" / "sim-run"
    done = subprocess.run([str(launcher), str(BUILD), profile, *map(str, command)], cwd=directory,
                          env=clean_environment() | extra, capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL)
    path = directory / "run.journal"
    return done, journal.read(path) if path.exists() else None


def trace_python(directory, script, *arguments, python=PYTHON, **keywords):
    """(what the workload printed last, as JSON; its journal)."""
    done, written = trace(directory, python, WORKLOADS / script, *arguments, **keywords)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1]), written
