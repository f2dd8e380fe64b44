# SPDX-License-Identifier: MIT
"""Stages and steps against what each program notes itself (workloads/stage_truth.py), every block of it."""
import csv
import json
import subprocess

import pytest

from recording import SOURCE, WORKLOADS, record, record_python, vtrace


@pytest.fixture(scope="module")
def frameworks():
    done = subprocess.run([SOURCE / "scripts" / "torch-venv", "--cached", "--with-frameworks"], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        pytest.skip("no environment with frameworks: scripts/torch-venv --with-frameworks makes it")
    return done.stdout.strip()


def full(*values):
    return pytest.param(*values, marks=pytest.mark.full)


def stage_of(intervals, time_ns):
    inside = [row for row in intervals if row[0] <= time_ns <= row[1]]
    return max(inside)[2] if inside else "any"


def wrong_stages(recording, intervals):
    """Blocks made in an interval whose stage is another: (event, stage, what it is)."""
    tables = recording.database.parent / "tables"
    done = vtrace("export", "--format", "csv", "-o", tables, recording.database)
    assert done.returncode == 0, done.stderr
    start = int(recording.value("SELECT value FROM run WHERE key = 'start_time_ns'"))
    (path,) = (tables / "allocation").glob("*/data.csv")
    with open(path, encoding="utf-8", newline="") as file:
        blocks = [row for row in csv.DictReader(file) if row["kind"] == "block"]
    judged = [(row["event"], row["stage"], stage_of(intervals, int(row["time_ns"]) + start)) for row in blocks]
    assert sum(stage != "any" for _, _, stage in judged) > 50
    return [row for row in judged if row[2] not in ("any", row[1])]


def check(recording):
    assert recording.process.returncode == 0, recording.process.stderr
    (line,) = (line for line in recording.process.stdout.splitlines() if line.startswith("TRUTH "))
    truth = json.loads(line.removeprefix("TRUTH "))
    assert wrong_stages(recording, truth["intervals"]) == []
    report = recording.report()
    steps = report["steps"]
    assert [max(len(step["micro_batches"]), 1) for step in steps if step["complete"]] == truth["steps"]
    return [step for step in steps if not step["complete"]], report


@pytest.mark.parametrize("loop", ["scaler", "autocast", full("inference_mode"), "unused_graphs", "closures",
                                  "adversarial"])
def test_stages_and_steps_of_a_loop(tmp_path, loop):
    assert check(record_python(tmp_path, "stage_loops.py", loop))[0] == []


def test_the_micro_batch_that_failed(tmp_path):
    recording = record_python(tmp_path, "stage_loops.py", "out_of_memory")
    (failed,), report = check(recording)
    assert failed["index"] == 2
    assert report["out_of_memory"]["micro_batch"] == 3
    assert "step 2, micro-batch 3, forward" in vtrace("oom", recording.database).stdout.splitlines()[0]


@pytest.mark.parametrize("arguments", [["trainer", "bf16", "2"], full(["trainer", "fp16", "3"]),
                                       ["lightning", "32-true", "2"], full(["lightning", "bf16-mixed", "1"]),
                                       full(["lightning", "16-mixed", "3"]),
                                       full(["lightning", "32-true", "1", "LBFGS"]), full(["accelerate", "fp16", "4"])],
                         ids=" ".join)
def test_stages_and_steps_of_a_trainer(tmp_path, frameworks, arguments):
    assert check(record(tmp_path, frameworks, WORKLOADS / "stage_trainers.py", *arguments))[0] == []
