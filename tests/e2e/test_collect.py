# SPDX-License-Identifier: MIT
"""The collector beside a living program: reports meanwhile, and its death at any time."""
import json
import os
import signal
import struct
import subprocess
import time

import pytest

from recording import PYTHON, VTRACE, WORKLOADS, clean_environment, vtrace

IMPORTER_PID_OFFSET = 156
DEADLINE_S = 60


class Program:
    """hold_memory.py under `vtrace run`, obeying one command at a time."""

    def __init__(self, directory):
        self.directory = directory
        self.process = subprocess.Popen(
            [VTRACE, "run", "--simulate", "h100-80g", "-o", directory / "run.db", "--", PYTHON,
             WORKLOADS / "hold_memory.py"], cwd=directory, env=clean_environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self, command=None):
        _, errors = self.process.communicate(command + "\n" if command else None, timeout=120)
        return self.process.returncode, errors

    def collector(self):
        """The collector's process id, once it is at work."""
        header = (self.directory / "run.journal").read_bytes()[:4096]
        return struct.unpack_from("<I", header, IMPORTER_PID_OFFSET)[0]


@pytest.fixture
def program(tmp_path):
    started = Program(tmp_path)
    yield started
    started.process.kill()
    started.process.communicate()


def until(question):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError("did not happen")


def info(directory):
    done = vtrace("info", "--json", directory / "run.db")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def live(directory):
    return info(directory)["counts"]["allocations"]


def test_a_living_program_can_be_looked_at(program, tmp_path):
    program.tell("alloc 4")
    until(lambda: live(tmp_path) == 4)
    assert info(tmp_path)["run"]["ended"] == "running"
    program.tell("alloc 3")
    until(lambda: live(tmp_path) == 7)
    assert program.end()[0] == 0
    assert info(tmp_path)["run"]["ended"] == "exit 0"
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.parametrize("end", (None, "kill 9"))
def test_a_killed_collector_loses_nothing(program, tmp_path, end):
    program.tell("alloc 4")
    os.kill(until(program.collector), signal.SIGKILL)
    program.tell("alloc 3")
    program.tell("free 2")
    program.end(end)
    state = info(tmp_path)
    assert state["counts"]["allocations"] == 7
    assert state["run"]["lost_events"] == state["run"]["torn_records"] == state["run"]["unknown_frees"] == 0
    assert state["run"]["ended"] == ("signal 9" if end else "exit 0")
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_the_collector_keeps_nothing_of_the_program(program):
    program.tell("alloc 1")
    pid = until(program.collector)
    descriptors = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert not [name for name in descriptors if name.startswith("pipe:") or "tty" in name or "/pts/" in name]
    assert os.getsid(pid) != os.getsid(program.process.pid)


def test_an_interrupt_of_the_terminal_does_not_end_it(program, tmp_path):
    program.tell("alloc 4")
    os.kill(until(program.collector), signal.SIGINT)
    os.kill(program.collector(), signal.SIGHUP)
    program.tell("alloc 1")
    until(lambda: live(tmp_path) == 5)
    assert program.collector()


def test_two_collectors_do_not_meet(program, tmp_path):
    program.tell("alloc 4")
    until(program.collector)
    done = vtrace("collect", "--foreground", tmp_path / "run.journal")
    assert done.returncode == 3
    assert "already" in done.stderr
