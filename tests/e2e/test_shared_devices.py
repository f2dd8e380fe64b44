# SPDX-License-Identifier: MIT
"""The file through which the processes of a simulation share its devices does not stay behind."""
import os
import signal

import pytest

from living import Program, until
from recording import TIMEOUT_S, vtrace


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def start(tmp_path, folder, name):
    (tmp_path / name).mkdir()
    program = Program(tmp_path / name, env={"TMPDIR": str(folder)})
    program.tell("alloc 1")
    return program


def files(folder):
    return sorted(path.name for path in folder.glob("vtrace-devices*"))


def run_another(tmp_path, folder):
    done = vtrace("run", "-q", "-o", tmp_path / "another.db", "--simulate", "h100-80g", "--", "true",
                  env={"TMPDIR": str(folder)})
    assert done.returncode == 0, done.stderr


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_is_gone_after_the_program(tmp_path, folder):
    program = start(tmp_path, folder, "one")
    assert len(files(folder)) == 1
    program.end("quit 0")
    assert not files(folder)


def test_the_next_one_removes_what_a_kill_left(tmp_path, folder):
    program = start(tmp_path, folder, "one")
    left, traced = files(folder), children(program.process)
    os.kill(program.process.pid, signal.SIGKILL)
    program.process.wait(timeout=TIMEOUT_S)
    assert files(folder) == left
    # Of others: no file of ours, and none at all.
    (folder / "vtrace-devices.d").mkdir()
    (folder / "vtrace-devices.l").symlink_to(folder / "nothing")
    run_another(tmp_path, folder)
    assert files(folder) == ["vtrace-devices.d", "vtrace-devices.l"]
    # The program that outlived the command has what it had.
    program.tell("alloc 2")
    program.process.stdin.write("quit 0\n")
    program.process.stdin.close()
    until(lambda: not any(map(is_running, traced)))


def test_that_of_a_living_one_stays(tmp_path, folder):
    program = start(tmp_path, folder, "one")
    before = files(folder)
    run_another(tmp_path, folder)
    assert files(folder) == before
    program.end("quit 0")
    assert not files(folder)
