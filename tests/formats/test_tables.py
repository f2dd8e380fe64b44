# SPDX-License-Identifier: MIT
"""`vtrace export --format csv|parquet` in pandas and pyarrow, at once and without options."""
import subprocess

import pytest
from exported import owned, run_viewer, training  # noqa: F401
from recording import SOURCE, vtrace


@pytest.mark.parametrize("format", ("csv", "parquet"))
def test_pandas_opens_the_tables(format, training, tmp_path):  # noqa: F811
    env = {}
    if format == "parquet":
        found = subprocess.run([SOURCE / "scripts" / "duckdb"], capture_output=True, text=True)
        if found.returncode:
            pytest.skip("no DuckDB")
        env["VTRACE_DUCKDB"] = found.stdout.strip()
    done = vtrace("export", "--format", format, "-o", tmp_path / "out", training.database, env=env)
    assert done.returncode == 0, done.stderr
    at_end = owned(training, "end")
    found = run_viewer("hta", "read_tables.py", format, tmp_path / "out")
    assert found["rows"] == training.value("SELECT count(*) FROM allocation")
    assert found["bytes"] == sum(block["size_bytes"] for block in at_end)
    assert {owner.split("/")[0] for owner in found["owners"]} == {
        (block["owner"] or "").split("/")[0] for block in at_end}
    assert found["ended"] == "exit 0"
