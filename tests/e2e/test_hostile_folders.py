# SPDX-License-Identifier: MIT
"""`vtrace list`, `top` and `metrics` of folders in which anything lies."""
import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import threading

import pytest

from recording import record_python, vtrace

# Control characters; no UTF-8 at all; half of a pair of UTF-16, and what is behind the last character.
ODD = b"a\nb\x1b[31m\x07.db", b"\xff\xfe.db", b"\xff\xfd.db", b"\xed\xa0\x80.db", b"\xf4\x90\x80\x80.db"
READABLE = 2 + len(ODD)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("good"), "train_mlp.py").database


@pytest.fixture(name="folder", scope="module")
def fixture_folder(recording, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    data = recording.read_bytes()
    for pid, name in enumerate((b"good.db", b"log.db", *ODD), 1):
        shutil.copy(recording, folder / "copy.db")
        # Copies of one process would be one.
        with contextlib.closing(sqlite3.connect(folder / "copy.db")) as connection, connection:
            connection.execute("UPDATE run SET value = ? WHERE key = 'pid'", (str(pid),))
        os.rename(folder / "copy.db", os.fsencode(folder) + b"/" + name)
    (folder / "log.db-wal").write_bytes(os.urandom(4096))
    for name in ("pipe.db", "pipe.journal", "alone.journal", "shm.db-shm"):
        os.mkfifo(folder / name)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(folder / "socket.db"))
    bound.close()
    for name, to in (("loop.db", "loop.db"), ("gone.db", "nowhere"), ("up.db", "."), ("zero.db", "/dev/zero"),
                     ("zero.journal", "/dev/zero"), ("tty.journal", "/dev/tty")):
        (folder / name).symlink_to(to)
    (folder / "folder.db").mkdir()
    (folder / "folder.journal").mkdir()
    (folder / "empty.db").touch()
    (folder / "empty.journal").touch()
    (folder / "half.db").write_bytes(data[:len(data) // 2])
    (folder / "head.db").write_bytes(data[:100])
    (folder / "text.db").write_text("hello\n" * 1000)
    (folder / "\x1b[2Jtext.db").write_text("hello\n" * 1000)
    return folder


@pytest.mark.parametrize("command", [["list"], ["list", "--json"], ["top", "--once"], ["metrics"], ["report"]])
def test_what_can_be_read_is_and_nothing_drives_the_terminal(folder, command):
    done = vtrace(*command, folder)
    assert done.returncode == 0, done.stderr
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\ufffd\udcff]", done.stdout + done.stderr), done.stdout
    for word in ("half.db", "text.db", "empty.", "head.db")[:4 if command[0] == "list" else 0]:
        assert word in done.stdout
    if command == ["list", "--json"]:
        assert len(json.loads(done.stdout)["recordings"]) == READABLE
    elif command[0] in ("list", "top"):
        assert done.stdout.startswith(f"{folder}: {READABLE} recordings\n")
        assert "not readable: " in done.stdout


def test_metrics_of_odd_names_are_series_of_their_own(folder):
    lines = [line for line in vtrace("metrics", folder).stdout.splitlines() if line.startswith("vtrace_used_bytes{")]
    assert len(lines) == len(set(line.split("}")[0] for line in lines)) == READABLE


def test_thousands_of_files(folder, recording, tmp_path):
    for number in range(3000):
        (tmp_path / f"{number}.db").write_bytes(b"no database")
    shutil.copy(recording, tmp_path / "good.db")
    done = vtrace("list", tmp_path)
    assert done.returncode == 0 and done.stdout.count("not readable: ") == 3000
    done = vtrace("top", "--once", tmp_path)
    assert done.returncode == 0 and "not readable: 2995 more (vtrace list)\n" in done.stdout


def test_files_that_go_while_they_are_listed(recording, tmp_path):
    for number in range(40):
        shutil.copy(recording, tmp_path / f"{number:02}.db")
    thread = threading.Thread(target=lambda: [(tmp_path / f"{number:02}.db").unlink() for number in range(39, 0, -1)])
    thread.start()
    done = vtrace("list", "--json", tmp_path)
    thread.join()
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert 1 <= len(listed["recordings"]) <= 40
    assert "00.db" in [row["file"].rpartition("/")[2] for row in listed["recordings"]]


def test_an_unreadable_folder_is_one_line(tmp_path):
    done = vtrace("list", tmp_path / "nowhere")
    assert done.returncode == 3 and done.stderr == f"vtrace: {tmp_path}/nowhere: No such file or directory\n"
    assert vtrace("list", tmp_path).returncode == 3
