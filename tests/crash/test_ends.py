# SPDX-License-Identifier: MIT
"""Every way in which a program ends: what must be in the file."""
import json
import os
import subprocess

import pytest

from recording import PYTHON, WORKLOADS, record, vtrace
from scenes import BEGIN, GIVEN_BACK, LATE, SCENES, calls_of, perform
from victim import environment

@pytest.mark.parametrize("scene, code, ended, calls", (
    ("by_return", 0, "exit 0", BEGIN + GIVEN_BACK),
    ("by_exit", 3, "exit 3", BEGIN + GIVEN_BACK),
    ("by_underscore_exit", 4, "exit 4", BEGIN),
    ("by_quick_exit", 5, "exit 5", BEGIN),
    ("by_abort", 134, "signal 6", BEGIN),
    ("by_exception", 134, "signal 6", BEGIN),
    ("by_segmentation_fault", 139, "signal 11", BEGIN),
    ("by_terminate", 143, "signal 15", BEGIN),
    ("by_forked_exit", 0, "exit 0", [*BEGIN, ("alloc", 1002), *GIVEN_BACK]),
    ("by_vforked_exit", 134, "signal 6", BEGIN),
    ("unloads_the_driver", 0, "exit 0", [("alloc", 2001), ("alloc", 2002), ("alloc", 2003), ("alloc", LATE),
                                         ("free", LATE)]),
))
def test_an_end(tmp_path, scene, code, ended, calls):
    done = perform(tmp_path, scene)
    if done.returncode == 77:
        pytest.skip("no libstdc++ here")
    assert done.returncode == code, done.stderr
    assert os.listdir(tmp_path) == ["run.db"]
    recorded, run = calls_of(tmp_path / "run.db")
    assert recorded == calls
    assert run["ended"] == ended


@pytest.mark.parametrize("scene, ended", (
    ("by_return", "exit 0"), ("by_abort", "killed"), ("by_underscore_exit", "exit 4"), ("by_quick_exit", "killed"),
    ("by_vforked_exit", "killed"),
))
def test_an_end_that_nobody_watches(tmp_path, scene, ended):
    """Preloaded alone: the next command knows what the exit handlers or _exit wrote, or that there were none."""
    subprocess.run([SCENES, scene], env=environment(tmp_path), cwd=tmp_path, capture_output=True, check=False)
    done = vtrace("info", "--json", tmp_path / "run.db")
    assert json.loads(done.stdout)["run"]["ended"] == ended
    assert calls_of(tmp_path / "run.db")[0] == BEGIN + (GIVEN_BACK if scene == "by_return" else [])


def test_an_exec_over_ourselves(tmp_path):
    """Two programs in one process: one file each, and what the first had is whole."""
    assert perform(tmp_path, "by_exec").returncode == 3
    assert vtrace("info", tmp_path / "run.db").returncode == vtrace("info", tmp_path / "run-2.db").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["run-2.db", "run.db"]
    first, run = calls_of(tmp_path / "run.db")
    assert first == BEGIN and run["ended"] in ("killed", "exit 3")
    second, run = calls_of(tmp_path / "run-2.db")
    assert second == BEGIN + GIVEN_BACK and run["ended"] == "exit 3"


FORKING = """
import os, sys
sys.path.insert(0, {workloads!r})
from hold_memory import allocate, connect
cuda = connect()
held = [allocate(cuda) for _ in range(3)]
for code in (0, 5):
    child = os.fork()
    if not child:
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
held.append(allocate(cuda))
"""


def test_pythons_fork_and_exit(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", FORKING.format(workloads=str(WORKLOADS)))
    assert recording.process.returncode == 0, recording.process.stderr
    assert [op for op, _ in calls_of(recording.database)[0]] == ["alloc"] * 4
    assert len(list(tmp_path.glob("*.db"))) == 1
