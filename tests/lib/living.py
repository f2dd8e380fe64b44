# SPDX-License-Identifier: MIT
"""A program that lives while a test looks at it."""
import contextlib
import os
import pathlib
import signal
import sqlite3
import struct
import subprocess
import time

from recording import PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment

IMPORTER_PID_OFFSET = 156


class Program:
    """hold_memory.py under `vtrace run`, obeying one command at a time."""

    def __init__(self, directory, profile="h100-80g", env=None, options=(), script=None):
        """`script`: of the shell that runs it as "$@"."""
        shell = ["sh", "-c", script, "sh"] if script else []
        self.directory = directory
        self.process = subprocess.Popen(
            [VTRACE, "run", "--simulate", profile, "-o", directory / "run.db", *options, "--", *shell,
             PYTHON, WORKLOADS / "hold_memory.py"], cwd=directory, env=clean_environment(env), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self, command=None):
        _, errors = self.process.communicate(command + "\n" if command else None, timeout=TIMEOUT_S)
        return self.process.returncode, errors

    def header(self):
        with open(self.directory / "run.journal", "rb") as file:
            return file.read(4096)

    def collector(self):
        """The collector's process id, once it is at work."""
        if not (self.directory / "run.db").exists():
            return 0
        return struct.unpack_from("<I", self.header(), IMPORTER_PID_OFFSET)[0]


def until(question):
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError("did not happen")


def interrupt_a_look(process):
    """Ctrl-C in a terminal, which is for the whole group, while a process of the command's reads a recording."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (readers := children.read_text(encoding="ascii").split()):
        assert process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(readers[0]), signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(readers[0]), signal.SIGCONT)


def last_sample(program):
    """Of NVML, said twice: used by the program and by others."""
    path = program.directory / "run.db"
    if not path.exists():
        return None
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT process_used_bytes, total_used_bytes - process_used_bytes FROM device_sample"
                                  " ORDER BY time_ns DESC LIMIT 2").fetchall()
    return rows[0] if len(rows) == 2 and rows[0] == rows[1] else None
