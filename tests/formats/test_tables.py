# SPDX-License-Identifier: MIT
"""`vtrace export --format csv|parquet` in pandas and pyarrow, at once and without options."""
import shutil
import subprocess

import pytest
from exported import owned, run_viewer, training  # noqa: F401
from ranks import change
from recording import SOURCE, vtrace


def duckdb():
    found = subprocess.run([SOURCE / "scripts" / "duckdb"], capture_output=True, text=True)
    if found.returncode:
        pytest.skip("no DuckDB")
    return {"VTRACE_DUCKDB": found.stdout.strip()}


@pytest.mark.parametrize("format", ("csv", "parquet"))
def test_pandas_opens_the_tables(format, training, tmp_path):  # noqa: F811
    env = duckdb() if format == "parquet" else {}
    done = vtrace("export", "--format", format, "-o", tmp_path / "out", training.database, env=env)
    assert done.returncode == 0, done.stderr
    at_end = owned(training, "end")
    found = run_viewer("hta", "read_tables.py", format, tmp_path / "out")
    assert found["rows"] == training.value("SELECT count(*) FROM allocation")
    assert found["bytes"] == sum(block["size_bytes"] for block in at_end)
    assert {owner.split("/")[0] for owner in found["owners"]} == {
        (block["owner"] or "").split("/")[0] for block in at_end}
    assert found["ended"] == "exit 0"


def test_ranks_are_parts_of_a_table(training, tmp_path):  # noqa: F811
    (tmp_path / "runs").mkdir()
    for rank in (0, 1):
        copy = tmp_path / "runs" / f"run.rank{rank}.db"
        shutil.copy(training.database, copy)
        change(copy, rank=rank, local_rank=rank, world_size=2)
    done = vtrace("export", "--format", "parquet", "-o", tmp_path / "out", tmp_path / "runs", env=duckdb())
    assert done.returncode == 0, done.stderr
    rows = training.value("SELECT count(*) FROM allocation")
    assert run_viewer("hta", "read_tables.py", "ranks", tmp_path / "out") == {
        "pandas": {"0": rows, "1": rows}, "filtered": rows, "table": 2 * rows, "dataset": rows, "alone": rows}
