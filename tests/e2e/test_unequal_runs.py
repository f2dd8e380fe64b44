# SPDX-License-Identifier: MIT
"""Runs that can hardly be compared (other devices, killed, without Python, empty, of an older schema): diff and check
say so, and compare what can be."""
import json
import re
import shutil
import sqlite3

import pytest

from recording import BUILD, PYTHON, SOURCE, WORKLOADS, record, vtrace

SCRIPT = WORKLOADS / "diff_training.py"
# Memory of the host alone.
EMPTY = """
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
assert cuda.cuMemAllocHost_v2(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)) == 0
"""


def training(directory, *arguments, script=SCRIPT, **options):
    return record(directory, PYTHON, script, *arguments, **options).database


def make_other_device(directory, base):
    return training(directory, profile="a100-40g")


def make_killed(directory, base):
    script = directory / "killed.py"
    script.write_text(SCRIPT.read_text().replace(
        "        optimizer.zero_grad()\n", "        optimizer.zero_grad()\n"
        "        if _ == 2:\n            import os\n            os.kill(os.getpid(), 9)\n"))
    return training(directory, script=script)


def make_native(directory, base):
    return record(directory, BUILD / "tests" / "workloads" / "driver_client").database


def make_older(directory, base):
    """As a vtrace of the second schema would have written it."""
    path = directory / "older.db"
    shutil.copy(base, path)
    with sqlite3.connect(path) as db:
        views = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall()
        for name, _ in views:
            if name != "allocation":
                db.execute(f"DROP VIEW {name}")
        db.executescript((SOURCE / "tests" / "lib" / "older_allocations.sql").read_text())
        db.executescript("DROP TABLE python_source; DROP TABLE operator; DROP TABLE operator_tensor;"
                         "DROP TABLE allocation_parent;"
                         "ALTER TABLE allocation DROP COLUMN requested_bytes;"
                         "ALTER TABLE allocation DROP COLUMN grad; ALTER TABLE allocation DROP COLUMN freed_grad;"
                         "ALTER TABLE out_of_memory DROP COLUMN stream;"
                         "ALTER TABLE out_of_memory DROP COLUMN grad; PRAGMA user_version=2;")
        for _, sql in views:
            if not any(word in sql for word in ("allocation_parent", "allocation_row", "requested_bytes", "stream")):
                db.execute(sql)
    return path


def newest_schema():
    text = (SOURCE / "analyzer" / "database" / "db_check.h").read_text()
    return re.search(r"VT_DB_SCHEMA_VERSION (\d+)", text).group(1)


# name: (recording, what differs, is any memory of both the same)
RUNS = {
    "other device": (make_other_device, {"device 0": ("H100", "A100")}),
    "killed": (make_killed, {"ended": ("exit 0", "signal 9")}),
    "no Python": (make_native, {"stacks": ("Python, native", "native"), "torch": ("2.", None)}),
    "older schema": (make_older, {"schema": (newest_schema(), "2")}),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return training(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module", params=RUNS)
def other(request, base, tmp_path_factory):
    make, differences = RUNS[request.param]
    return request.param, make(tmp_path_factory.mktemp("other"), base), differences


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("empty"), PYTHON, "-c", EMPTY)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording.database


def test_diff_says_what_differs_and_compares(base, other):
    name, database, differences = other
    done = vtrace("diff", base, database, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told = {row["what"]: (row["base"], row["new"]) for row in found["runs"]}
    for what, texts in differences.items():
        assert all((text or "") in (told[what][i] or "") for i, text in enumerate(texts)), told
        assert (told[what][1] is None) == (texts[1] is None)
    device, = found["devices"]
    assert device["process_used"]["base_bytes"] > 0 and device["process_used"]["new_bytes"] > 0
    # Weights are weights on every card, after any death and in any schema.
    owners = {o["owner"]: o for o in device["owners"]}
    weights = owners.get("weights", {"base_bytes": 1, "new_bytes": 1})
    assert (weights["base_bytes"] == weights["new_bytes"]) == (name != "no Python")


def test_check_says_what_differs_and_compares(base, other, tmp_path):
    name, database, differences = other
    (tmp_path / "memory.toml").write_text(
        f'baseline = "{base}"\n[total]\ndevice_used = "+0"\n[owners]\nweights = "+0"\n')
    done = vtrace("check", database, "--json", cwd=tmp_path)
    assert done.returncode == (name == "no Python"), done.stdout + done.stderr
    found = json.loads(done.stdout)
    for what in differences:
        assert any(note.startswith(f"the baseline differs: {what} ") for note in found["notes"]), found["notes"]
    assert any("did not end normally (signal 9)" in n for n in found["notes"]) == (name == "killed")
    assert all(row["figure"] is not None and row["base"] > 0 for row in found["limits"])


def test_an_empty_run_is_compared_with_one_that_is_not(base, empty):
    found = json.loads(vtrace("diff", base, empty, "--json").stdout)
    device = found["devices"][0]
    assert device["allocated"]["new_bytes"] == 0 and device["allocated"]["base_bytes"] > 0
    assert {place["what"] for place in device["places"]} == {"gone"}


def test_nothing_but_empty_runs(base, empty, tmp_path):
    (tmp_path / "memory.toml").write_text(f'baseline = "{empty}"\n[total]\nallocated = "+0"\n')
    for command in (["diff", empty, empty], ["check", empty]):
        done = vtrace(*command, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1
        assert "no device memory was recorded" in done.stderr
    # The baseline is the empty one.
    done = vtrace("check", base, cwd=tmp_path)
    assert done.returncode == 1 and "baseline: nothing was recorded on cuda:0" in done.stdout
