# SPDX-License-Identifier: MIT
"""`vtrace report FOLDER`: the ranks of one run compared, on real data-parallel training and on damaged folders."""
import json
import shutil
import sqlite3

import pytest

from ranks import change, owner, report, train
from recording import BUILD, record, vtrace

CLIENT = BUILD / "tests" / "workloads" / "driver_client"


def text(directory, *options):
    done = vtrace("report", directory, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def large_rank(tmp_path_factory):
    """Two ranks, the second with twice the batch."""
    return train(tmp_path_factory.mktemp("large"), 2, "--large-rank", 1)


@pytest.fixture
def copied(large_rank, tmp_path):
    for path in large_rank.glob("*.db"):
        shutil.copy(path, tmp_path)
    return tmp_path


def check_large_rank(ranks, number):
    assert ranks["peak_rank"] == number and ranks["median_rank"] != number
    assert ranks["missing"] == ranks["died"] == ranks["left_out"] == []
    mlp, weights = owner(ranks, "activations/mlp"), owner(ranks, "weights")
    assert mlp["max_rank"] == number and mlp["max_bytes"] == 2 * mlp["min_bytes"]
    assert weights["min_bytes"] == weights["max_bytes"] and weights["imbalance"] == 0
    differing = {row["what"]: (row["base"], row["new"]) for row in ranks["peak_against_median"]["runs"]}
    assert differing["input tokens of DistributedDataParallel.forward"] == ("4,256 int64", "8,256 int64")


def test_a_rank_with_a_larger_batch_is_named_with_its_reason(large_rank):
    ranks = report(large_rank)
    check_large_rank(ranks, 1)
    assert [row["device"] for row in ranks["ranks"]] == [0, 1]
    assert (ranks["run"]["ranks"], ranks["run"]["world_size"], ranks["run"]["runs"]) == (2, 2, 1)
    lines = text(large_rank).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("PEAK  rank 1: +"))
    assert lines[at + 1].startswith("  larger owners: logits +")
    assert "  input tokens of DistributedDataParallel.forward: 8,256 int64 (median rank: 4,256 int64)" in lines


def test_ranks_are_offered_for_comparison_where_their_devices_are_compared(copied):
    """vtrace diff holds devices of one number against each other."""
    assert text(copied).endswith(f"\nnext: vtrace report {copied}/run.rank1.db\n")
    shutil.copy(copied / "run.rank0.db", copied / "run.rank1.db")
    change(copied / "run.rank1.db", rank=1)
    files = [f"{copied}/run.rank{rank}.db" for rank in (0, 1)]
    assert text(copied).endswith(f"\nnext: vtrace report {files[0]} | vtrace diff {files[1]} {files[0]}\n")


def test_owners_of_ranks_are_those_of_their_own_reports(large_rank):
    ranks = report(large_rank)
    alone = []
    for rank in ranks["ranks"]:
        done = vtrace("report", rank["file"], "--json", "--at", "most-allocated")
        peak = json.loads(done.stdout)["devices"][0]["peak"]
        alone.append({row["owner"]: row["bytes"] for row in peak["owners"]} | {"unaccounted": peak["difference_bytes"]})
    assert {"activations/mlp", "logits", "weights", "optimizer"} <= alone[0].keys()
    for name in alone[0].keys() | alone[1].keys():
        values = [row.get(name, 0) for row in alone]
        if not any(values):  # a single report says that there are no bytes of other processes
            assert name not in {row["owner"] for row in ranks["owners"]}
            continue
        row = owner(ranks, name)
        assert (row["min_bytes"], row["max_bytes"]) == (min(values), max(values)), name
        assert row["mean_bytes"] == sum(values) // 2
        assert row["imbalance"] == pytest.approx(max(values) / (sum(values) / 2) - 1, abs=1e-5)


def test_ranks_too_near_to_the_size_of_their_device(large_rank):
    peaks = [rank["process_used_bytes"] for rank in report(large_rank)["ranks"]]
    share = sum(peaks) / 2 / report(large_rank)["ranks"][0]["total_bytes"]
    warn = report(large_rank, "--warn", share)["warn"]
    over = [(row["process_used_bytes"], row["is_over"]) for row in warn["ranks"]]
    assert over == [(peaks[0], False), (peaks[1], True)]
    lines = [line for line in text(large_rank, "--warn", share).splitlines() if line.startswith("WARN")]
    assert len(lines) == 1 and lines[0].startswith("WARN  rank 1  above "), lines
    assert "\nWARN  no rank above 85 % of its device\n" in text(large_rank, "--warn", "0.85")
    assert report(large_rank)["warn"] is None and "WARN" not in text(large_rank)


def test_a_rank_that_is_killed_is_named_and_the_first(tmp_path):
    train(tmp_path, 2, "--fail-rank", 1, code=1)
    ranks = report(tmp_path)
    assert ranks["died"][0] == 1 and ranks["missing"] == []
    # Its exit handlers did not run, and nobody but torchrun saw its status.
    assert ranks["ranks"][1]["ended"] == "killed"
    words = "without its exit handlers"
    died = text(tmp_path).partition("\nDIED  ")[2].splitlines()[1]
    assert f"rank 1  {words}  " in died and "  killed  " not in text(tmp_path), died
    database = next(path for path in tmp_path.glob("*.db") if path.name == ranks["ranks"][1]["file"].split("/")[-1])
    for command in ("info", "report"):
        done = vtrace(command, database)
        assert words in done.stdout, done.stdout


def test_other_things_in_the_folder_are_named(copied):
    (copied / "run.rank0.db").rename(copied / "a.db")
    (copied / "foreign.db").write_text("not a database")
    (copied / "half.db").write_bytes((copied / "a.db").read_bytes()[:50_000])
    (copied / "empty.journal").write_bytes(b"")
    (copied / "log.txt").write_text("not looked at")
    (copied / "folder.db").mkdir()
    ranks = report(copied)
    check_large_rank(ranks | {"left_out": []}, 1)
    left_out = {row["file"].rsplit("/")[-1]: row["reason"] for row in ranks["left_out"]}
    assert left_out.keys() == {"foreign.db", "half.db", "empty.journal"}
    assert all(f"{name}: " in reason for name, reason in left_out.items())
    shown = text(copied)
    assert shown.count("left out: ") == 3 and shown.count(f"{copied}/foreign.db") == 1


def test_two_runs_in_one_folder_are_kept_apart(copied):
    for rank in (0, 1):
        later = shutil.copy(copied / f"run.rank{rank}.db", copied / f"later.rank{rank}.db")
        change(later, start_realtime_ns=2 * 10**18)
    ranks = report(copied)
    assert (ranks["run"]["index"], ranks["run"]["runs"]) == (2, 2)
    assert {row["file"].rsplit("/")[-1] for row in ranks["ranks"]} == {"later.rank0.db", "later.rank1.db"}
    assert {row["reason"] for row in ranks["left_out"]} == {"another run: the rank exists twice"}
    assert "note: 2 runs in this folder; this is run 2" in text(copied)
    assert report(copied, "--run", 1)["ranks"][0]["file"].endswith("/run.rank0.db")
    done = vtrace("report", copied, "--run", 3)
    assert (done.returncode, done.stderr) == (3, f"vtrace: {copied}: no run 3 in this folder, it has 2\n")


def test_ranks_that_left_nothing_are_missing(copied):
    for rank in (0, 1):
        change(copied / f"run.rank{rank}.db", world_size=5)
    assert report(copied)["missing"] == [2, 3, 4]
    assert "\nMISSING  3 of 5 ranks left no recording here: 2 3 4\n" in text(copied)


def test_clocks_that_disagree_are_corrected_and_said(copied):
    start = int(sqlite3.connect(copied / "run.rank1.db").execute(
        "SELECT value FROM run WHERE key = 'start_realtime_ns'").fetchone()[0])
    change(copied / "run.rank1.db", hostname="elsewhere")
    before = report(copied)
    change(copied / "run.rank1.db", start_realtime_ns=start + 3630 * 10**9)
    ranks = report(copied)
    assert [row["is_off"] for row in ranks["clocks"]] == [False, True]
    # How far the ends of their steps lie apart anyway depends on the machine.
    assert ranks["clocks"][1]["ahead_ns"] == before["clocks"][1]["ahead_ns"] + 3630 * 10**9
    # On the common clock the ranks start together all the same.
    assert [row["start_ns"] for row in ranks["ranks"]] == [row["start_ns"] for row in before["ranks"]]
    assert "clocks: elsewhere: its wall clock is 1 h 0 min ahead of that of " in text(copied)


@pytest.mark.parametrize("arguments, code, message", (
    (["--run", "1", "run.rank0.db"], 2, "vtrace report: --run is for a folder"),
    ([".", "--by", "keeper"], 2, "vtrace report: --stages, --by and --device are for one recording"),
    (["nothing"], 3, "vtrace: nothing: no recording in this folder"),
    ([".", "--at", "step:99"], 3, "vtrace: .: none of 2 recordings can be read; ./run.rank0.db: "),
))
def test_what_cannot_be_is_one_line(arguments, code, message, copied):
    (copied / "nothing").mkdir()
    done = vtrace("report", *arguments, cwd=copied)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[0].startswith(message)


def test_a_reader_that_dies_costs_one_recording(copied):
    """A recording whose size says that it is large is read alone; one that is no recording harms no other."""
    shutil.copy(copied / "run.rank1.db", copied / "zz.db")
    with open(copied / "zz.db", "r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 65536)
    ranks = report(copied)
    assert len(ranks["ranks"]) == 2
    assert [row["file"].rsplit("/")[-1] for row in ranks["left_out"]] == ["zz.db"]


@pytest.mark.full
@pytest.mark.parametrize("options", (("--backend", "nccl"), ("--backend", "nccl", "--sharding", "fsdp"),
                                     ("--sharding", "zero")), ids=("nccl", "fsdp", "zero"))
def test_other_ways_to_share_the_work(options, tmp_path):
    ranks = report(train(tmp_path, 2, *options))
    assert (ranks["run"]["ranks"], ranks["died"], ranks["missing"]) == (2, [], [])
    weights, optimizer = owner(ranks, "weights"), owner(ranks, "optimizer")
    assert weights["min_bytes"] == weights["max_bytes"]
    if "fsdp" in options:
        assert optimizer["max_bytes"] < 24 * 2**20
    if "nccl" in options and "fsdp" not in options:
        assert optimizer["max_bytes"] > 30 * 2**20


@pytest.mark.full
def test_four_ranks(tmp_path):
    ranks = report(train(tmp_path, 4, "--large-rank", 2))
    check_large_rank(ranks, 2)
    assert [row["rank"] for row in ranks["ranks"]] == [0, 1, 2, 3]
    assert len(ranks["clocks"]) == 1 and ranks["clocks"][0]["spread_ns"] < 10**9


def test_unrelated_recordings_are_a_list(tmp_path):
    """One after the other, without a launcher: no rank, nobody died."""
    for name in ("first", "second"):
        assert record(tmp_path, CLIENT, "2", name=f"{name}.db").process.returncode == 0
    done = vtrace("report", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path}: 2 recordings of separate runs\n") and "DIED" not in done.stdout
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert rows == ["file", "first.db", "second.db"]
    listed = json.loads(vtrace("report", tmp_path, "--json").stdout)
    assert [row["file"] for row in listed["recordings"]] == [str(tmp_path / name) for name in ("first.db", "second.db")]
    assert listed["not_readable"] == []
