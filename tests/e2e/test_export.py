# SPDX-License-Identifier: MIT
"""`vtrace export` and scripts/fleet: the same answers from the tables as from `vtrace report FOLDER`."""
import csv
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from ranks import change, report, train
from recording import SOURCE, VTRACE, clean_environment, vtrace

ODD = 'a "quoted", word\nand a line; ü'


@functools.cache
def duckdb():
    """DuckDB's command line; a machine that cannot have it skips, one of CI must."""
    done = subprocess.run([SOURCE / "scripts" / "duckdb"], capture_output=True, text=True)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip("no DuckDB")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def export(directory, output, *options, format="csv", code=0, **extra):
    done = vtrace("export", "--format", format, "-o", output, *options, directory,
                  env={"VTRACE_DUCKDB": duckdb()} if format == "parquet" else None, **extra)
    assert done.returncode == code, done.stderr
    return done.stderr


def ask(output, question, engine="duckdb"):
    done = subprocess.run([sys.executable, SOURCE / "scripts" / "fleet" / "ask", output, question, "--json",
                           "--engine", engine], capture_output=True, text=True,
                          env=clean_environment({"VTRACE_DUCKDB": duckdb()}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read_csv(output, table, rank):
    with open(output / table / f"rank={rank}" / "data.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two ranks, the second with twice the batch; of a world of five, and one was killed."""
    directory = train(tmp_path_factory.mktemp("trained"), 2, "--large-rank", 1, "--steps", 6)
    for rank, number in ((0, 1), (1, 3)):
        (directory / f"run.rank{rank}.db").rename(directory / f"rank{number}.db")
        change(directory / f"rank{number}.db", rank=number, world_size=5, odd=ODD, empty="")
    change(directory / "rank3.db", ended="signal 9")
    return directory


@pytest.fixture(scope="module")
def tables(trained, tmp_path_factory):
    output = tmp_path_factory.mktemp("tables") / "parquet"
    assert export(trained, output, format="parquet") == f"vtrace: tables of 2 recordings as parquet in {output}\n"
    return output


def check_answers(tables, ranks, engine):
    assert ask(tables, "owners", engine) == sorted(ranks["owners"], key=lambda row: (-row["max_bytes"], row["owner"]))
    assert ask(tables, "peak", engine) == [{"peak_rank": ranks["peak_rank"], "median_rank": ranks["median_rank"]}]
    assert [row["rank"] for row in ask(tables, "died", engine)] == ranks["died"] == [3]
    missing = [rank for row in ask(tables, "missing", engine)
               for rank in range(row["first_rank"], row["last_rank"] + 1)]
    assert missing == ranks["missing"] == [0, 2, 4]
    growth = {row["rank"]: row["growth_bytes"] for row in ask(tables, "growth", engine)}
    assert growth == {row["rank"]: row["growth_bytes"] for row in ranks["ranks"]} and len(growth) == 2
    of_ranks = {row["rank"]: row for row in ranks["ranks"]}
    for row in ask(tables, "ranks", engine):
        assert row == {key: of_ranks[row["rank"]][key] for key in row}
    assert ask(tables, "places", engine)[0]["max_bytes"] > 0


def test_duckdb_answers_as_the_report_does(trained, tables):
    check_answers(tables, report(trained), "duckdb")


def test_spark_answers_as_the_report_does(trained, tables):
    pytest.importorskip("pyspark")
    if not shutil.which("java"):
        pytest.skip("no Java")
    check_answers(tables, report(trained), "spark")


def test_parquet_leaves_nothing_else(tables):
    names = {path.name for path in tables.rglob("*") if path.is_file()}
    assert names == {"data.parquet"}
    assert {path.parent.parent.name for path in tables.rglob("data.parquet")} == {
        "run", "figures", "allocation", "rest", "step", "out_of_memory"}


def test_csv_is_the_recording(trained, tmp_path):
    export(trained, tmp_path / "out")
    facts = {row["key"]: row["value"] for row in read_csv(tmp_path / "out", "run", 3)}
    assert (facts["odd"], facts["empty"], facts["ended"]) == (ODD, "", "signal 9")
    allocations = read_csv(tmp_path / "out", "allocation", 3)
    done = vtrace("info", trained / "rank3.db", "--json")
    assert len(allocations) == json.loads(done.stdout)["counts"]["allocations"]
    freed = [row for row in allocations if row["freed_event"]]
    assert all(int(row["freed_event"]) > int(row["event"]) for row in freed) and 0 < len(freed) < len(allocations)
    assert {row["is_owned"] for row in allocations if not row["owner"]} == {"0"}
    assert any("train_gpt.py" in row["place"] for row in allocations)


def test_text_survives_the_way_to_parquet(tables):
    (tables.parent / "odd.sql").write_text(
        "SELECT rank, key, value FROM run WHERE key IN ('odd', 'empty') ORDER BY 1, 2")
    assert ask(tables, tables.parent / "odd.sql") == [
        {"rank": rank, "key": key, "value": value} for rank in (1, 3) for key, value in (("empty", ""), ("odd", ODD))]


def test_one_recording_is_one_rank(trained, tmp_path):
    export(trained / "rank3.db", tmp_path / "out", "--at", "end")
    assert [path.name for path in (tmp_path / "out" / "figures").iterdir()] == ["rank=3"]


def test_nothing_is_overwritten(trained, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "is not empty, nothing is overwritten" in export(trained, tmp_path, code=3)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("arguments, code, message", (
    (["--format", "csv", "x"], 2, "vtrace export: needs --format and -o"),
    (["--format", "xml", "-o", "o", "x"], 2, 'vtrace export: no format "xml": csv, parquet, pytorch, perfetto, chrome,'
     " kineto, memory-timeline, pprof, speedscope, folded"),
    (["--format", "csv", "-o", "o", "x"], 3, "vtrace: x: No such file or directory"),
    (["--format", "csv", "-o", "none/o", "rank3.db"], 3, "vtrace: none/o: No such file or directory"),
))
def test_what_cannot_be_is_one_line(arguments, code, message, trained):
    done = vtrace("export", *arguments, cwd=trained)
    assert (done.returncode, done.stderr.splitlines()[0]) == (code, message)


def test_without_duckdb_parquet_says_what_is_missing(trained, tmp_path):
    done = vtrace("export", "--format", "parquet", "-o", tmp_path / "out", trained,
                  env={"VTRACE_DUCKDB": "no-such-duck"})
    assert done.returncode == 3
    assert done.stderr.startswith("vtrace: no-such-duck: command not found; Parquet is written by")
    assert not (tmp_path / "out").exists()


def test_a_duckdb_that_fails_leaves_the_csv(trained, tmp_path):
    done = vtrace("export", "--format", "parquet", "-o", tmp_path / "out", trained, env={"VTRACE_DUCKDB": "false"})
    assert (done.returncode, done.stderr) == (
        3, f"vtrace: false could not write Parquet in {tmp_path}/out; its CSV is still there\n")
    assert len(read_csv(tmp_path / "out", "figures", 3)) == 1


def export_file(database, output, *options, format="perfetto", **extra):
    return vtrace("export", "--format", format, "-o", output, *options, database, **extra)


@pytest.mark.parametrize("format", ("pytorch", "perfetto", "chrome", "kineto", "memory-timeline", "pprof", "speedscope",
                                    "folded"))
def test_standard_output_is_the_file(format, trained, tmp_path):
    assert export_file(trained / "rank3.db", tmp_path / "out", format=format).returncode == 0
    done = subprocess.run([VTRACE, "export", "--format", format, "-o", "-", trained / "rank3.db"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (tmp_path / "out").read_bytes()


def test_a_file_that_exists_is_kept(trained, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = export_file(trained / "rank3.db", tmp_path / "out")
    assert (done.returncode, done.stderr) == (3, f"vtrace: {tmp_path}/out: already exists (use --force to overwrite)\n")
    assert (tmp_path / "out").read_text() == "mine"
    assert export_file(trained / "rank3.db", tmp_path / "out", "--force").returncode == 0
    assert (tmp_path / "out").stat().st_size > 10000
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("output, code, message", (
    ("none/out", 3, "vtrace: none/out: cannot write: No such file or directory"),
    ("/dev/full", 3, "vtrace: /dev/full: already exists and is not a regular file"),
))
def test_an_output_that_cannot_be(output, code, message, trained):
    done = export_file(trained / "rank3.db", output, cwd=trained)
    assert (done.returncode, done.stderr) == (code, message + "\n")


def test_a_full_disk_leaves_no_file(trained, tmp_path):
    """A limit on the size of files in place of one of the disk."""
    done = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "-", VTRACE, "export", "--format",
                           "perfetto", "-o", tmp_path / "out", trained / "rank3.db"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, f"vtrace: {tmp_path}/out: cannot write: File too large\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_there", (False, True))
def test_a_full_disk_leaves_no_tables(is_there, trained, tmp_path):
    """The second rank's are too large, too: nothing of the first one stays."""
    if is_there:
        (tmp_path / "out").mkdir()
    done = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "-", VTRACE, "export", "--format",
                           "csv", "-o", tmp_path / "out", trained], capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.endswith("data.csv: File too large\n")
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*")] == [pathlib.Path("out")] * is_there


def write_to(redirection, *command):
    return subprocess.run(["bash", "-c", f'set -o pipefail; "$@" {redirection}', "-", VTRACE, *command],
                          capture_output=True, text=True)


def test_standard_output_that_fails_is_one_line(trained):
    done = write_to(">/dev/full", "export", "--format", "pytorch", "-o", "-", trained / "rank3.db")
    assert (done.returncode, done.stderr) == (
        3, "vtrace: standard output: cannot write: No space left on device\n")


@pytest.mark.parametrize("command", (("export", "--format", "pytorch", "-o", "-"), ("blocks", "--json")),
                         ids=lambda command: command[0])
def test_a_reader_that_goes_away_is_no_failure_to_be_told(command, trained):
    """Every command ends as others do, by the signal."""
    done = write_to("| :", *command, trained / "rank3.db")
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("arguments, message", (
    (["--format", "perfetto", "--at", "peak"], "--at does not apply to --format perfetto"),
    (["--format", "perfetto", "--by", "owner"], "--by does not apply to --format perfetto"),
    (["--format", "csv", "--by", "owner"], "--by does not apply to --format csv"),
    (["--format", "csv", "--device", "0"], "--device does not apply to --format csv"),
    (["--format", "csv", "-o", "-"], "-o - does not apply to --format csv"),
    (["--format", "pytorch", "--run", "1"], "--run does not apply to --format pytorch"),
))
def test_options_that_do_not_fit_are_wrong(arguments, message, trained):
    done = vtrace("export", "-o", "o", *arguments, "rank3.db", cwd=trained)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"vtrace export: {message}")
    assert not (trained / "o").exists() and not (trained / "-").exists()
