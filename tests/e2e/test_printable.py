# SPDX-License-Identifier: MIT
"""Recorded texts drive no terminal and end no line: not in text, not in Markdown."""
import json
import re
import shlex
import shutil
import sqlite3
import subprocess

import pytest

from recording import PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, record, vtrace

# A colour, a carriage return, a line, a fence, CSI in one character, DEL, text from right to left, a line of Unicode's.
WILD = "\x1b[31m\r\n```\n\x9b\x7f\u202e\u2066\u2028"
TAME = "?[31m??```???" + 10 * "?"
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
    assert "CALL SITES" in wild.stdout or "<details>" in wild.stdout
    assert wild.stdout == tame.stdout


def printed(done):
    assert done.returncode == 0, done.stderr
    assert not any(sign in done.stdout for sign in "\x1b\x9b\x7f\u202e"), ascii(done.stdout)
    return done.stdout


def test_a_sheet_drives_no_terminal(tmp_path):
    (tmp_path / "a\x1b[31m.ini").write_text("[symbols]\nP = 3\n[rows]\nweights\x1b[2J\u202e = P*2\n\x9b8\x7f = 7\n")
    assert "weights?[2J???" in printed(vtrace("estimate", "a\x1b[31m.ini", cwd=tmp_path))


def test_a_configuration_drives_no_terminal(tmp_path):
    config = {"model_type": "llama\x1b]0;x\x07\u202e", "hidden_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, "torch_dtype": "\x9b31m\x7f"}
    folder = tmp_path / "model\x1b[31m\u202e"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    assert "unknown model_type llama?]0;x????" in printed(vtrace("estimate", folder))
    assert "?" in printed(vtrace("estimate", folder / "config.json"))


def test_rules_drive_no_terminal(recorded, tmp_path):
    (tmp_path / "own.ini").write_text("[rule any\x1b[31m]\nkind = block\nowner = mine\x1b[2J\u202e\nknown_by = frames\n"
                                      "reason = because\x9b8\x7f\n[include]\nrules = default\n")
    assert "mine?[2J???" in printed(vtrace("report", "--rules", tmp_path / "own.ini", recorded.database))
    printed(vtrace("explain", "--rules", tmp_path / "own.ini", recorded.database, "1"))


WILD_NAME = "r\x1b[31m\x9b\x7f\u202e\u2028.db"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture(name="wild_name")
def fixture_wild_name(recorded, tmp_path):
    shutil.copy(recorded.database, tmp_path / WILD_NAME)
    shutil.copy(recorded.database, tmp_path / "base.db")
    (tmp_path / "b.toml").write_text('[total]\nallocated = "1 TiB"\n')
    return tmp_path


@pytest.mark.parametrize("command", (("info",), ("diff", "base.db"), ("check", "--budget", "b.toml"),
                                     ("estimate", "--from"), ("export", "--format", "csv", "-o", "o\x1b[31m")),
                         ids=lambda command: command[0])
def test_the_name_of_a_recording_drives_no_terminal(wild_name, command):
    done = vtrace(*command, WILD_NAME, cwd=wild_name)
    assert done.returncode == 0, done.stderr
    assert not RAW.search(done.stdout + done.stderr), ascii(done.stdout + done.stderr)


def on_a_terminal(folder, *command):
    """What it printed: (to a program, to a terminal)."""
    piped = vtrace(*command, cwd=folder).stdout
    done = subprocess.run(["script", "-qec", shlex.join(map(str, (VTRACE, *command))), "/dev/null"], cwd=folder,
                          env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL, check=True)
    return piped, done.stdout.replace("\r\n", "\n")


def test_data_for_programs_is_tame_on_a_terminal(wild_name):
    piped, shown = on_a_terminal(wild_name, "html", "--force", WILD_NAME)
    assert (piped, shown) == (WILD_NAME.replace(".db", ".html") + "\n", "r?[31m" + 9 * "?" + ".html\n")
    piped, shown = on_a_terminal(wild_name, "list", "--json", ".")
    # Of DEL, which a terminal ignores, JSON has no escape here.
    assert json.loads(piped) == json.loads(shown) and not RAW.search(shown.replace("\x7f", ""))
    assert RAW.search(piped.replace("\x7f", ""))


def test_an_unknown_command_drives_no_terminal():
    for word in ("x\x1b[31m\u202e", "--x\x9b"):
        done = vtrace(word)
        assert done.returncode == 2 and not RAW.search(done.stderr), ascii(done.stderr)


def test_a_wrong_option_drives_no_terminal(recorded):
    for arguments in (("report", "--top", "x\x1b[31m"), ("report", "--x\x1b[31m"), ("check", "--limit\x9b\u202e")):
        done = vtrace(*arguments, recorded.database)
        assert done.returncode == 2 and not re.search("[\x1b\x9b\u202e]", done.stderr), ascii(done.stderr)
