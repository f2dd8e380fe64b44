# SPDX-License-Identifier: MIT
"""The collector beside a living program: reports meanwhile, and its death at any time."""
import fcntl
import json
import os
import signal
import sqlite3
import struct
import subprocess
from contextlib import suppress

import pytest

from living import Program, until
from recording import TIMEOUT_S, VTRACE, vtrace

BOOT_HASH_OFFSET = 56
PID_NAMESPACE_OFFSET = 60
HEAD_SLOTS_OFFSET = 64
HEADER_BYTES, SLOT_BYTES = 4096, 64


@pytest.fixture
def program(tmp_path):
    started = Program(tmp_path)
    yield started
    started.process.kill()
    started.process.communicate()


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


def test_a_look_at_the_beginning_does_not_keep_the_collector_away(program, tmp_path):
    """It holds the journal while it imports what is there."""
    program.tell("alloc 4")
    os.kill(until(program.collector), signal.SIGKILL)
    with open(tmp_path / "run.journal", "rb") as journal:
        until(lambda: not is_held(journal))
        fcntl.flock(journal, fcntl.LOCK_EX)
        collector = subprocess.Popen([VTRACE, "collect", tmp_path / "run.journal"], stdin=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            collector.wait(0.5)
    assert collector.wait(TIMEOUT_S) == 0
    program.tell("alloc 3")
    _, errors = program.end()
    assert "; peak 536.00 MiB on cuda:0; " in errors and live(tmp_path) == 7


def is_held(file):
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    return True


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
    descriptors = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed since it was listed
            descriptors.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
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
    assert "another collector" in done.stderr


def is_free(journal):
    with open(journal, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.parametrize("streams", ("", "exec <&- >&- 2>&-;"))
def test_the_command_returns_once_the_journal_is_taken_up(program, tmp_path, streams):
    """Without standard streams, too, whose numbers its own descriptors then get."""
    program.tell("alloc 4")
    killed = until(program.collector)
    os.kill(killed, signal.SIGKILL)
    until(lambda: is_free(tmp_path / "run.journal"))
    script = f'{streams} exec "{VTRACE}" collect run.journal'
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path, timeout=TIMEOUT_S).returncode == 0
    assert program.collector() not in (0, killed)
    program.end()
    assert live(tmp_path) == 4


def fnv1a(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 % 2 ** 32
    return value


def test_the_recorder_says_where_it_runs(program, tmp_path):
    program.tell("alloc 1")
    boot_hash, pid_namespace = struct.unpack_from("<II", program.header(), BOOT_HASH_OFFSET)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        assert boot_hash == fnv1a(file.read().strip())
    assert pid_namespace == os.stat(f"/proc/{program.process.pid}/ns/pid").st_ino


@pytest.mark.parametrize("offset", (BOOT_HASH_OFFSET, PID_NAMESPACE_OFFSET))
def test_a_program_elsewhere_keeps_its_journal(program, tmp_path, offset):
    program.tell("alloc 4")
    os.kill(until(program.collector), signal.SIGKILL)
    journal = tmp_path / "run.journal"
    with open(journal, "r+b") as file:
        file.seek(offset)
        file.write(struct.pack("<I", 7))
    program.end()
    before = journal.read_bytes()
    done = vtrace("info", "--json", tmp_path / "run.db")
    assert done.returncode == 0
    assert "may still run" in done.stderr and done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["run"]["ended"] == "running"
    assert json.loads(done.stdout)["counts"]["allocations"] == 4
    done = vtrace("collect", "--foreground", journal)
    assert done.returncode == 3 and "--dead" in done.stderr
    assert journal.read_bytes() == before
    done = vtrace("collect", "--foreground", "--dead", journal)
    assert (done.returncode, done.stderr) == (0, "")
    assert info(tmp_path)["counts"]["allocations"] == 4
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_a_journal_that_was_cut_is_kept(program, tmp_path):
    """By an interrupted copy, say: what is there is imported, and that there was more is not passed over."""
    program.tell("alloc 4")
    os.kill(until(program.collector), signal.SIGKILL)
    program.tell("alloc 3")
    folder = tmp_path / "cut"
    whole = (tmp_path / "run.journal").read_bytes()
    program.end()
    head, = struct.unpack_from("<Q", whole, HEAD_SLOTS_OFFSET)
    missing = head // 3
    cut = whole[:HEADER_BYTES + (head - missing) * SLOT_BYTES]
    folder.mkdir()
    (folder / "run.journal").write_bytes(cut)
    for _ in range(2):
        assert info(folder)["run"]["missing_slots"] == missing
        assert (folder / "run.journal").read_bytes()[HEADER_BYTES:] == cut[HEADER_BYTES:]
    done = vtrace("report", folder / "run.db")
    assert done.returncode == 0
    assert f"lost: the journal is truncated: {missing:,} slots are missing" in done.stdout
    # The copy is made again: nothing is missing any more.
    (folder / "run.journal").write_bytes(whole)
    assert info(folder)["run"].get("missing_slots", 0) == 0
    assert [p.name for p in folder.iterdir()] == ["run.db"]
    assert info(tmp_path)["counts"]["allocations"] == 7
    assert "missing_slots" not in info(tmp_path)["run"]


def test_what_a_reader_held_back_is_merged_by_the_next_command(tmp_path):
    """The database's last part stays in the log while somebody reads; a copy of the file alone would be a half."""
    program = Program(tmp_path)
    program.tell("alloc 5")
    until(lambda: vtrace("info", tmp_path / "run.db").returncode == 0)
    reader = sqlite3.connect(f"file:{tmp_path}/run.db?mode=ro", uri=True)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM run").fetchone()[0] > 0
    program.tell("alloc 7")
    assert program.end("quit 0")[0] == 0
    until(lambda: not (tmp_path / "run.journal").exists())
    assert (tmp_path / "run.db-wal").stat().st_size > 0
    held = vtrace("info", tmp_path / "run.db")
    assert held.returncode == 0 and held.stderr == ""
    reader.close()
    first, second = vtrace("info", tmp_path / "run.db"), vtrace("info", tmp_path / "run.db")
    assert first.stderr == f"vtrace: {tmp_path}/run.db: merged the data left in {tmp_path}/run.db-wal\n"
    assert second.stderr == "" and first.stdout.count("\n") == second.stdout.count("\n")
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]
