# SPDX-License-Identifier: MIT
"""`vtrace top`: lines into a pipe, pictures in a terminal (tmux)."""
import ctypes
import itertools
import os
import re
import shutil
import sqlite3
import struct
import subprocess

import pytest

from living import Program, until
from recording import PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, record_python, vtrace

IN_OPEN, IN_CLOSE_WRITE, IN_CLOSE_NOWRITE = 0x20, 0x8, 0x10
EVENT = struct.Struct("iIII")


@pytest.fixture
def program(tmp_path):
    living = Program(tmp_path)
    yield living
    if living.process.poll() is None:
        living.end()


class Terminal:
    """A window of tmux with its own server."""

    numbers = itertools.count()

    def __init__(self, folder, *command, columns=80, rows=24):
        if not shutil.which("tmux"):
            pytest.skip("tmux is not installed")
        # A server that was told to end still has its socket for a moment.
        self.socket = str(folder / f"tmux-{next(Terminal.numbers)}")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  " ".join(map(str, command)) + "; echo ended with $?; cat")

    def tmux(self, *arguments):
        env = clean_environment({"TERM": "xterm", "TMUX": ""})
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], env=env, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, pattern):
        return until(lambda: (lambda text: re.search(pattern, text, re.M) and text)(self.screen()))

    def close(self):
        self.tmux("kill-server")


def test_into_a_pipe_it_prints_once(program, tmp_path):
    program.tell("alloc 7")
    until(lambda: "7.00 MiB" in vtrace("top", tmp_path / "run.db").stdout)
    text = vtrace("top", program.process.pid).stdout
    assert text.startswith("hold_memory.py  pid ") and "  running  " in text and "\033" not in text
    assert re.search(r"^user +7\.00 MiB +\+7\.00 MiB", text, re.M)
    assert re.search(r"^ +\+7\.00 MiB  \S*hold_memory\.py:\d+ allocate$", text, re.M)
    assert re.search(r"^cuda:0 NVIDIA H100 80GB HBM3 \[[#.]{30}\] 0\.7 %$", text, re.M)


def test_what_grew_is_of_the_window(program, tmp_path):
    program.tell("alloc 7")
    until(lambda: "+7.00 MiB" in vtrace("top", tmp_path / "run.db").stdout)
    until(lambda: re.search(r"^user +7\.00 MiB +0 B", vtrace("top", tmp_path / "run.db", "--window", "1").stdout, re.M))
    assert "call sites that grew in the last 1 s: none" in vtrace("top", tmp_path / "run.db", "--window", "1").stdout


def test_training_has_steps(tmp_path):
    recording = record_python(tmp_path, "train_gpt.py")
    assert recording.process.returncode == 0, recording.process.stderr
    text = vtrace("top", recording.database).stdout
    # At its end the program has given back all but the workspaces.
    assert re.search(r"^workspace +65\.00 MiB +\+65\.00 MiB +0 B$", text, re.M), text
    assert re.search(r"^owner +now +in 60 s +per step$", text, re.M) and "\nweights" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_in_a_terminal_it_follows_resizes_and_ends_with_the_program(program, tmp_path):
    program.tell("alloc 3")
    terminal = Terminal(tmp_path, VTRACE, "top", "--every", "1", tmp_path / "run.db")
    try:
        terminal.shows(r"^user +3\.00 MiB")
        program.tell("alloc 2")
        terminal.shows(r"^user +5\.00 MiB")
        terminal.tmux("resize-window", "-x", "40", "-y", "10")
        narrow = until(lambda: (lambda lines: len(lines) == 10 and lines)(terminal.screen().splitlines()))
        assert all(len(line) <= 40 for line in narrow)
        terminal.tmux("resize-window", "-x", "80", "-y", "24")
        program.end("kill 9")
        text = terminal.shows("^ended with 0$")
        assert "signal 9" in text or "killed" in text
    finally:
        terminal.close()


def test_q_and_a_signal_end_it_and_the_terminal_is_as_before(program, tmp_path):
    program.tell("alloc 3")
    for keys in ("q", "C-c"):
        terminal = Terminal(tmp_path, VTRACE, "top", tmp_path / "run.db")
        try:
            terminal.shows(r"^user +3\.00 MiB")
            terminal.tmux("send-keys", keys)
            terminal.shows("^ended with 0$")
            terminal.tmux("send-keys", "typed", "Enter")
            terminal.shows("^typed$")
        finally:
            terminal.close()
    program.tell("alloc 1")


def test_a_folder_has_a_line_for_each_process(program, tmp_path):
    """A snapshot is none."""
    program.tell("alloc 3")
    done = vtrace("snapshot", program.process.pid, "-o", tmp_path / "a.db")
    assert done.returncode == 0, done.stderr
    (tmp_path / "other").mkdir()
    other = Program(tmp_path / "other")
    other.tell("alloc 1")
    other.end("quit 0")
    (tmp_path / "other/run.db").rename(tmp_path / "b.db")
    text = vtrace("top", tmp_path).stdout
    assert re.findall(r"^\w+\.db", text, re.M) == ["b.db", "run.db"] and ": 2 recordings\n" in text
    metrics = vtrace("metrics", tmp_path).stdout
    assert re.findall(r'^vtrace_used_bytes\{file="([^"]*)"', metrics, re.M) == ["b.db", "run.db"]


def test_wrong_usage_and_nothing_to_read(tmp_path):
    assert vtrace("top").returncode == 2
    assert vtrace("top", "--every", "0", "x").returncode == 2
    assert vtrace("top", tmp_path / "none.db").returncode == 3


def opened_while(file, *command):
    """How often the file was opened while the command ran (inotify)."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    # With the ends: two openings that follow each other are told as one.
    wanted = IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE
    assert watch >= 0 and libc.inotify_add_watch(watch, os.fsencode(file), wanted) >= 0
    try:
        assert vtrace(*command).returncode == 0
        return sum(mask & IN_OPEN != 0 for _, mask, _, _ in EVENT.iter_unpack(os.read(watch, 1 << 16)))
    finally:
        os.close(watch)


def test_a_look_with_thresholds_reads_the_recording_once(program, tmp_path):
    program.tell("alloc 3")
    until(lambda: "3.00 MiB" in vtrace("top", tmp_path / "run.db").stdout)
    program.end()
    without = opened_while(tmp_path / "run.db", "top", "--once", tmp_path / "run.db")
    assert without == opened_while(tmp_path / "run.db", "top", "--once", "--warn", "user=70GiB", tmp_path / "run.db")


def test_a_program_that_has_ended_ran_as_long_as_the_report_says(program, tmp_path):
    program.tell("alloc 3")
    program.end()
    with sqlite3.connect(tmp_path / "run.db") as connection:
        connection.execute("UPDATE run SET value = value + 3600000000000 WHERE key = 'duration_ns'")
    connection.close()
    ran = re.search(r"  ran (.+?), ", vtrace("report", tmp_path / "run.db").stdout)[1]
    assert f"  exit 0  {ran}  " in vtrace("top", tmp_path / "run.db").stdout.splitlines()[0]


TWO_WAYS = """
import hold_memory as program
def one(): return program.allocate(cuda)
def other(): return program.allocate(cuda)
cuda = program.connect()
held = one(), other(), other()
"""


def test_a_line_that_is_reached_in_several_ways_is_one_place(tmp_path):
    done = vtrace("run", "-q", "--simulate", "h100-80g", "-o", tmp_path / "run.db", "--", PYTHON, "-c", TWO_WAYS,
                  env={"PYTHONPATH": str(WORKLOADS)})
    assert done.returncode == 0, done.stderr
    places = vtrace("top", tmp_path / "run.db").stdout.split("call sites that grew")[1].splitlines()[1:]
    assert len(places) == 1 and re.fullmatch(r" +\+3\.00 MiB  .*hold_memory\.py:\d+ allocate", places[0]), places
