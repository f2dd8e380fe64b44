# SPDX-License-Identifier: MIT
"""vtrace check --history and vtrace history: figures are kept, and the commit at which one stepped is named."""
import json
import os
import re
import sqlite3

import pytest

from recording import PYTHON, record, vtrace

NONE = "not a history (vtrace check --history writes one)\n"
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[1]) << 20))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for mib in (100, 130):
        (folder / str(mib)).mkdir()
        made.append(record(folder / str(mib), PYTHON, "-c", PROGRAM, str(mib)).database)
    return made


def check(folder, database, revision, *options, code=0):
    (folder / "memory.toml").write_text('[total]\ndevice_used = "40 GiB"\n')
    done = vtrace("check", database, "--history", "history.db", *options, cwd=folder, env={"GITHUB_SHA": revision})
    assert done.returncode == code, done.stderr
    return done


def test_a_step_is_named_at_its_commit(runs, tmp_path):
    for i in range(9):
        done = check(tmp_path, runs[i >= 5], f"c{i}")
        assert ("STEP  total.device_used: +30.00 MiB" in done.stdout) == (i >= 7), done.stdout
    assert " at c5, run 6 of 9: " in done.stdout
    found = json.loads(vtrace("history", tmp_path / "history.db", "--json").stdout)
    assert [run["revision"] for run in found["runs"]] == [f"c{i}" for i in range(9)]
    assert [(s["revision"], s["after"] - s["before"]) for s in found["limits"][0]["steps"]] == [("c5", 30 << 20)]
    assert len(found["limits"][0]["figures"]) == 9
    text = vtrace("history", tmp_path / "history.db").stdout
    assert text.endswith("\n1 jump in 1 limits and 9 runs\n")
    page = vtrace("history", tmp_path / "history.db", "--html").stdout
    assert page.startswith("<!doctype html>") and "<polyline" in page and "at c5, run 6" in page
    most = found["limits"][0]["figures"][-1]["figure"] / (1 << 20)
    labels = re.findall(r"<text [^>]*>([^<]*)</text>", page)
    assert labels[:3] == ["0 B", f"{most / 2:.2f} MiB", f"{most:.2f} MiB"]
    assert [re.sub(r"20..-..-..$", "DATE", label) for label in labels[3:]] == ["run 1: c0, DATE", "run 9: c8, DATE"]
    # JSON stays JSON; --revision goes before the variables.
    done = check(tmp_path, runs[1], "c9", "--json", "--revision", "by hand")
    assert json.loads(done.stdout)["failed"] == 0 and "STEP" in done.stderr
    with sqlite3.connect(tmp_path / "history.db") as file:
        assert file.execute("SELECT revision FROM run ORDER BY id DESC").fetchone() == ("by hand",)


def test_files_that_are_none(runs, tmp_path):
    (tmp_path / "text").write_text("no database, and long enough to be looked at" * 40)
    (tmp_path / "empty").touch()
    with sqlite3.connect(tmp_path / "other.db") as file:
        file.execute("CREATE TABLE other (a)")
    for arguments, code, words in (((tmp_path / "none.db",), 3, "none.db: No such file or directory\n"),
                                   ((tmp_path,), 3, f"{tmp_path}: is a directory\n"),
                                   ((tmp_path / "text",), 3, f"text: {NONE}"),
                                   ((tmp_path / "empty",), 3, f"empty: {NONE}"),
                                   ((tmp_path / "other.db",), 3, f"other.db: {NONE}"),
                                   ((), 2, "needs one FILE"), ((runs[0],), 3, f"run.db: {NONE}")):
        done = vtrace("history", *arguments)
        assert (done.returncode, done.stdout) == (code, "") and words in done.stderr, done.stderr
        assert code == 2 or done.stderr.count("\n") == 1
    (tmp_path / "history.db").write_text("no database, and long enough to be looked at" * 40)
    assert NONE in check(tmp_path, runs[0], "x", code=3).stderr


EMPTY = ("CREATE TABLE run (id INTEGER PRIMARY KEY, time_s INTEGER NOT NULL, revision TEXT NOT NULL);"
         "CREATE TABLE figure (run INTEGER NOT NULL, name TEXT NOT NULL, unit INTEGER NOT NULL, value INTEGER NOT NULL,"
         " PRIMARY KEY (name, run)) WITHOUT ROWID;")
FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i"
HOSTILE = {
    "run is no table": f"DROP TABLE run; CREATE VIEW run AS {FOR_EVER} AS id, 1 AS time_s, 'x' AS revision FROM n",
    "figure is no table": f"DROP TABLE figure; CREATE VIEW figure AS {FOR_EVER} AS run, 'x' AS name, 0 AS unit,"
                          " i AS value FROM n",
    "figure has generated columns": "DROP TABLE figure; CREATE TABLE figure (run, name, unit, value AS (run + 1))",
    "t is a trigger or a virtual table": "CREATE TRIGGER t AFTER INSERT ON run BEGIN"
                                         " UPDATE run SET revision = zeroblob(1 << 30); END",
}


def history_of(folder, sql):
    with sqlite3.connect(folder / "history.db") as file:
        file.executescript(EMPTY + sql)
    return vtrace("history", "history.db", cwd=folder)


@pytest.mark.parametrize("reason", HOSTILE)
def test_what_would_run_for_a_reader_is_refused(reason, runs, tmp_path):
    done = history_of(tmp_path, HOSTILE[reason])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"vtrace: history.db: not a history: {reason}\n"
    assert done.stderr in check(tmp_path, runs[0], "c0", code=3).stderr


def test_figures_of_runs_that_are_gone_and_of_any_size(tmp_path):
    """A person may take old runs out; a figure without its run named another one, or none."""
    figures = [(run, "a", 0, 2 ** 63 - 1 if run >= 18 else -2 ** 63) for run in range(1, 41)]
    values = ",".join(map(str, figures)).replace("-9223372036854775808", "-9223372036854775807 - 1")
    done = history_of(tmp_path, "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 30)"
                      f" INSERT INTO run SELECT i, 0, 'c' || i FROM n; INSERT INTO figure VALUES {values};")
    assert done.returncode == 0, done.stderr
    assert "in 1 limits and 26 runs\n" in done.stdout and " at c18, run 14 of 26: " in done.stdout


def test_a_history_of_years_is_read_in_one_pass(tmp_path):
    """It was a pass over all runs for each figure."""
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    done = history_of(tmp_path, f"{many} INSERT INTO run SELECT i, 0, 'c' || i FROM n;"
                      f"{many} INSERT INTO figure SELECT i, 'a', 0, 1 FROM n;")
    assert (done.returncode, done.stdout) == (0, "0 jumps in 1 limits and 20000 runs\n"), done.stderr


def test_few_runs_have_no_step_and_that_is_said(tmp_path):
    done = history_of(tmp_path, "INSERT INTO run VALUES (1, 0, 'a'), (2, 0, 'b');"
                      "INSERT INTO figure VALUES (1, 'a', 0, 1), (2, 'a', 0, 9);")
    assert done.stdout == ("0 jumps in 1 limits and 2 runs\n"
                           "a jump needs 3 runs before it and 3 runs after it\n"), done.stderr


def test_a_part_of_a_history_is_called_one(tmp_path):
    history_of(tmp_path, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                         " INSERT INTO figure SELECT i, 'a', 0, i FROM n;")
    file = tmp_path / "history.db"
    file.write_bytes(file.read_bytes()[:5000])
    done = vtrace("history", "history.db", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == \
        (3, "", "vtrace: history.db: damaged or incomplete\n")


def test_a_pipe_is_no_history(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = vtrace("history", "pipe", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, f"vtrace: pipe: {NONE}")


def test_a_chart_has_room_for_what_is_below_nothing(tmp_path):
    history_of(tmp_path, "INSERT INTO run VALUES (1, 0, '<a>'), (2, 0, 'b');"
               "INSERT INTO figure VALUES (1, 'x', 0, -1024), (2, 'x', 0, 3072);")
    page = vtrace("history", tmp_path / "history.db", "--html").stdout
    assert re.findall(r"<text [^>]*>([^<]*)</text>", page) == ["-1.00 KiB", "1.00 KiB", "3.00 KiB", "run 1: &lt;a&gt;",
                                                               "run 2: b"]
    assert 'points="0.0,160.0 800.0,0.0 "' in page


def test_a_chart_of_losses_alone_and_of_long_revisions(tmp_path):
    history_of(tmp_path, f"INSERT INTO run VALUES (1, 0, '{'0123456789' * 4}'), (2, 0, '{'a' * 19}\u00fc{'b' * 9}');"
               "INSERT INTO figure VALUES (1, 'x', 0, -2048), (2, 'x', 0, 0), (2, 'y', 0, 0);")
    page = vtrace("history", tmp_path / "history.db", "--html").stdout
    labels = [re.sub("<.*", "", label) for label in re.findall(r"<text [^>]*>(.*)</text>", page)]
    runs = ["run 1: 01234567890123456789...", f"run 2: {'a' * 19}..."]
    assert labels == ["-2.00 KiB", "-1.00 KiB", "0 B", *runs, "0 B", "0 B", "1 B", *runs]
    assert f"<title>{'0123456789' * 4}</title>" in page
