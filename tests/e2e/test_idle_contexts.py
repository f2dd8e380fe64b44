# SPDX-License-Identifier: MIT
"""Contexts that hold memory of a card for hardly anything: whose, how many bytes, and the line that made them."""
import functools
import json
import re
import shutil
import sqlite3

import pytest

from ranks import report
from recording import PYTHON, WORKLOADS, complete, record_python, vtrace

MIB = 1 << 20
CASES = {"tensor": 1, "touched": 1, "fixed": 0, "both": 1}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """A rank of a job of two cards, recorded at most once for each case."""
    @functools.lru_cache(maxsize=None)
    def run(case):
        recording = record_python(tmp_path_factory.mktemp("rank"), "idle_contexts.py", case, profile="h100-80g,count=2",
                                  env={"RANK": str(CASES[case]), "LOCAL_RANK": "1", "WORLD_SIZE": "2"})
        assert recording.process.returncode == 0, recording.process.stderr
        recording.database = recording.directory / f"run.rank{CASES[case]}.db"
        return recording
    return run


def findings(recording, case):
    return [f for f in recording.report()["findings"] if f["id"] == case]


def used_on_first(recording):
    return max(line.used for line in recording.read_ledger().lines if line.device == 0)


@pytest.mark.parametrize("case, allocated", (("tensor", 512), ("touched", 0)))
def test_a_context_on_the_wrong_card_is_found(ranks, case, allocated):
    recording = ranks(case)
    found, = findings(recording, "context-elsewhere")
    assert found["device"] == 0 and found["owner"] == "context"
    assert found["saves_bytes"] == found["lowers_used_bytes"] == used_on_first(recording)
    assert found["lowers_allocated_bytes"] == allocated
    assert re.search(r"idle_contexts\.py:\d+ choose_device$", found["where"])
    for_what = "2.00 MiB of memory" if allocated else "nothing"
    assert found["text"].endswith(f": 522.00 MiB on cuda:0 of rank 1, for {for_what}; it works on cuda:1")
    assert found["fix"].startswith("call torch.cuda.set_device(local_rank) before anything else")
    assert "(finding:context-elsewhere)" in vtrace("report", recording.database).stdout
    assert recording.report("--device", "1")["findings"] == [
        f for f in recording.report()["findings"] if f["device"] == 1]


@pytest.mark.parametrize("case", ("fixed", "both"))
def test_ranks_that_use_their_cards_are_not_blamed(ranks, case):
    assert findings(ranks(case), "context-elsewhere") == []


def test_the_context_is_that_of_the_like_card_where_nvml_is_silent(ranks, tmp_path):
    recording = ranks("touched")
    copy = tmp_path / "copy.db"
    shutil.copy(recording.database, copy)
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM device_sample")
    db.close()
    found = next(f for f in json.loads(vtrace("report", copy, "--json").stdout)["findings"]
                 if f["id"] == "context-elsewhere")
    assert ": about 522.00 MiB (as on cuda:1) on cuda:0 of rank 1, for nothing" in found["text"]
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE device SET name = 'another card' WHERE id = 0")
    db.close()
    found = next(f for f in json.loads(vtrace("report", copy, "--json").stdout)["findings"]
                 if f["id"] == "context-elsewhere")
    assert ": unknown size on cuda:0 of rank 1, for nothing" in found["text"] and found["lowers_used_bytes"] is None


def test_the_ranks_of_a_folder_are_named_with_their_lines(ranks, tmp_path):
    for case in ("fixed", "tensor"):
        (tmp_path / ranks(case).database.name).write_bytes(ranks(case).database.read_bytes())
    rows = report(tmp_path)["ranks"]
    assert rows[0]["idle_context"] is None
    idle = rows[1]["idle_context"]
    assert idle["device"] == 0 and idle["bytes"] == used_on_first(ranks("tensor"))
    said = vtrace("report", tmp_path).stdout
    line = next(line for line in said.splitlines() if line.startswith("CONTEXTS  "))
    assert line == f"CONTEXTS  rank 1 holds 524.00 MiB of cuda:0, which it hardly uses: {idle['where']}"


def workers(directory, case):
    """The reports of the processes of a program with a DataLoader: of the main one, and of its worker if it has one."""
    done = vtrace("run", "--simulate", "h100-80g", "-q", "-o", "%p.db", "--",
                  PYTHON, WORKLOADS / "idle_contexts.py", case, cwd=directory)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(vtrace("report", path, "--json").stdout) for path in complete(directory)]
    # Process ids start again from the beginning at some time; the main process outlives its worker.
    return sorted(reports, key=lambda report: -report["run"]["duration_ns"])


def context_findings(report):
    return [f for f in report["findings"] if f["id"].startswith("context-")]


def test_a_worker_that_touches_the_card_is_found(tmp_path):
    main, worker = workers(tmp_path, "worker")
    assert context_findings(main) == []
    found, = context_findings(worker)
    assert found["id"] == "context-of-worker" and found["lowers_used_bytes"] == 524 * MIB
    assert f" 522.00 MiB on cuda:0 of process {worker['run']['pid']}, for 2.00 MiB of memory" in found["text"]
    assert found["where"].endswith(" Samples.__getitem__")


@pytest.mark.parametrize("case, processes", (("worker-fixed", 1), ("worker-works", 2)))
def test_workers_that_do_not_or_that_compute_are_not_blamed(tmp_path, case, processes):
    reports = workers(tmp_path, case)
    assert len(reports) == processes and not any(map(context_findings, reports))
