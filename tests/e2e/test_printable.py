# SPDX-License-Identifier: MIT
"""Recorded texts drive no terminal and end no line: not in text, not in Markdown."""
import json
import shutil
import sqlite3

import pytest

from recording import PYTHON, WORKLOADS, record, vtrace

# A colour, a carriage return, a line, a fence, CSI in one character.
WILD = "\x1b[31m\r\n```\n\x9b"
TAME = "?[31m??```???"
COLUMNS = (("string", "text"), ("device", "name"), ("module", "path"), ("native_frame", "symbol"),
           ("native_frame", "file"), ("python_code", "file"), ("python_code", "name"), ("run", "value"))
VIEWS = (("info",), ("report", "--all-frames"), ("report", "--at", "end"), ("blocks",), ("explain", "1"), ("frag",),
         ("leaks",))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("printable"), PYTHON, WORKLOADS / "diff_training.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def with_texts(recorded, folder, text):
    """A copy in which every recorded text ends so; the command is JSON, which has its own writing of it."""
    folder.mkdir()
    shutil.copy(recorded.database, folder / "run.db")
    with sqlite3.connect(folder / "run.db") as db:
        for table, column in COLUMNS:
            where = " WHERE key <> 'command'" if table == "run" else ""
            db.execute(f"UPDATE {table} SET {column} = {column} || ?{where}", (text,))
        db.execute("UPDATE run SET value = ? WHERE key = 'command'", (json.dumps(["a" + text]),))
    return folder


def lines(done):
    """But for the command, which is printed as the JSON that it is recorded as."""
    return [line for line in done.stdout.split("\n") if not line.startswith("command ")]


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_view_prints_control_characters_as_question_marks(recorded, tmp_path, view):
    wild = vtrace(view[0], "run.db", *view[1:], cwd=with_texts(recorded, tmp_path / "wild", WILD))
    tame = vtrace(view[0], "run.db", *view[1:], cwd=with_texts(recorded, tmp_path / "tame", TAME))
    assert wild.returncode == tame.returncode == 0
    assert wild.stdout and lines(wild) == lines(tame)


@pytest.mark.parametrize("options", ((), ("--format", "markdown")), ids=("text", "markdown"))
def test_diff_prints_control_characters_as_question_marks(recorded, tmp_path, options):
    with_texts(recorded, tmp_path / "wild", WILD)
    with_texts(recorded, tmp_path / "tame", TAME)
    shutil.copy(recorded.database, tmp_path / "base.db")
    wild = vtrace("diff", "../base.db", "run.db", *options, cwd=tmp_path / "wild")
    tame = vtrace("diff", "../base.db", "run.db", *options, cwd=tmp_path / "tame")
    assert wild.returncode == tame.returncode
    assert "PLACES" in wild.stdout or "<details>" in wild.stdout
    assert wild.stdout == tame.stdout
