# SPDX-License-Identifier: MIT
"""What a program could notice around every function that the recorder stands in front of (untouched.c)."""
import subprocess

import pytest

from recording import BUILD, LIBRARY
from simulated import trace

PROGRAM = BUILD / "tests/harm/untouched"

# Two chunks of the journal are 65,536 events; a cap is looked at when a chunk is needed.
ENOUGH = "100000"


def run(folder, *arguments, recorded=True, **extra):
    environment = {"LD_LIBRARY_PATH": str(PROGRAM.parent), "VTRACE_OUTPUT": str(folder / "run.db"),
                   "VTRACE_COLLECT": "0", "UNTOUCHED_FOLDER": str(folder), **extra}
    if recorded:
        environment["LD_PRELOAD"] = str(LIBRARY)
    result = subprocess.run([PROGRAM, *arguments], env=environment, cwd=folder if folder.exists() else None,
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.parametrize("mode", ["first", "again"])
def test_the_program_sees_so_without_the_recorder(tmp_path, mode):
    run(tmp_path, mode, recorded=False)


@pytest.mark.parametrize("mode", ["first", "again"])
def test_recorded(tmp_path, mode):
    run(tmp_path, mode)
    assert list(tmp_path.glob("run*.journal"))


def test_recorded_with_a_collector(tmp_path):
    assert "0 lost" in run(tmp_path, "again", VTRACE_COLLECT="1")


@pytest.mark.parametrize("mode", ["first", "again"])
def test_nowhere_to_record(tmp_path, mode):
    assert "not recording; the program continues" in run(tmp_path / "absent", mode)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_library_that_comes_late_is_not_loaded(tmp_path, recorded):
    run(tmp_path, "late", PROGRAM.parent / "driver/libcuda.so.1", recorded=recorded)


@pytest.mark.parametrize("recorded", [True, False])
def test_pools_are_asked_until_they_are_destroyed(tmp_path, recorded):
    run(tmp_path, "pools", recorded=recorded)


def test_the_recording_had_to_end(tmp_path):
    assert " 0 lost" not in run(tmp_path, "after", ENOUGH, VTRACE_MAX_JOURNAL="1")


def test_the_folder_goes_away(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    assert " 0 lost" not in run(folder, "gone", ENOUGH)
    assert not folder.exists()


@pytest.mark.parametrize("release", [12, 13])
def test_the_error_that_the_runtime_remembers(tmp_path, release):
    """On the simulator's own libcudart: what NVIDIA's remembers is not looked at here."""
    command = PROGRAM.parent / "last_error", f"libcudart.so.{release}"
    usual, written = trace(tmp_path, *command, env={"VTRACE_PRELOAD": ""})
    assert usual.returncode == 0 and not written, usual.stderr
    recorded, written = trace(tmp_path, *command)
    assert len(written.events) > 6
    assert recorded.stdout == usual.stdout
    assert "remembers 2" in usual.stdout and "absent" not in usual.stdout
