# SPDX-License-Identifier: MIT
"""vtrace check --history and vtrace history: figures are kept, and the commit at which one stepped is named."""
import json
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
    assert text.endswith("\n1 step of 1 limits in 9 runs\n")
    page = vtrace("history", tmp_path / "history.db", "--html").stdout
    assert page.startswith("<!doctype html>") and "<polyline" in page and "at c5, run 6" in page
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
