# SPDX-License-Identifier: MIT
"""Stages, steps, generations and calls of real programs that leave no marks."""
import functools
import json

import pytest

from recording import record_python, vtrace


@pytest.fixture(scope="module")
def report_of(tmp_path_factory):
    """Reports by workload and arguments, each program run once."""
    @functools.cache
    def report(script, *arguments):
        recording = record_python(tmp_path_factory.mktemp("stages"), script, *arguments)
        assert recording.process.returncode == 0, recording.process.stderr
        return recording.report()

    return report


def full(*values):
    return pytest.param(*values, marks=pytest.mark.full)


def names(report):
    return [stage["name"] for stage in report["stages"]]


@pytest.mark.parametrize("arguments", [["accumulate"], full(["adversarial"]), ["adversarial", "--fused"],
                                       full(["closure"]), full(["by_hand"]), ["evaluate"]], ids=" ".join)
def test_an_iteration_is_a_step(report_of, arguments):
    steps = report_of("training_loops.py", *arguments, "--iterations", "3")["steps"]
    assert [step["complete"] for step in steps] == [True] * 3


@pytest.mark.parametrize("loop, micro_batches", [("accumulate", 4), ("slopes", 1), ("returned", 1),
                                                 full("adversarial", 1), full("by_hand", 1)])
def test_micro_batches_of_a_step(report_of, loop, micro_batches):
    steps = report_of("training_loops.py", loop, "--iterations", "3")["steps"]
    assert [len(step["micro_batches"]) for step in steps] == [micro_batches] * 3
    for step in steps:
        assert max(m["peak_bytes"] for m in step["micro_batches"]) <= step["peak_bytes"]


@pytest.mark.parametrize("loop", ["evaluate", "fits_itself"])
def test_evaluation_is_no_part_of_a_step(report_of, loop):
    report = report_of("training_loops.py", loop, "--iterations", "3")
    evaluation = next(stage for stage in report["stages"] if stage["name"] == "evaluation")
    assert [step["peak_bytes"] < evaluation["peak_bytes"] for step in report["steps"]] == [True] * 3


def test_the_first_step_leaves_the_optimizers_state(report_of):
    report = report_of("training_loops.py", "accumulate", "--iterations", "3")
    first = report["first_steps"][0]
    assert "optimizer" not in first["before_by_owner"]
    assert first["after_by_owner"]["optimizer"] >= 2 * first["before_by_owner"]["weights"]


@pytest.mark.full
def test_requests_are_calls(report_of):
    report = report_of("training_loops.py", "requests", "--iterations", "5")
    assert report["steps"] == [] and report["generations"] == []
    (calls,) = report["calls"]
    assert calls["module"] == "Net" and len(calls["calls"]) == 5
    assert calls["growth_bytes"] == 0


# Per token: layers * (keys and values) * batch * width of all heads * 2 bytes.
@pytest.mark.parametrize("cache", ["tuple", full("module")])
def test_decode_steps_of_a_loop_by_hand(report_of, cache):
    report = report_of("decode_by_hand.py", "--cache", cache, "--new", "12")
    (generation,) = report["generations"]
    assert names(report) == ["load", "generation", "other"]
    assert generation["module"] == "Decoder" and len(generation["decode_steps"]) == 11
    assert generation["growth_bytes"] == 4 * 2 * 4 * 512 * 2
    assert generation["prefill"]["peak_bytes"] > generation["decode_steps"][0]["peak_bytes"]
    assert report["calls"] == []
    # the last call's cache; the loop's last turn, which is of the generation, dropped the one before
    cached = next(stage for stage in report["stages"] if stage["name"] == "generation")["by_owner"]["kv cache"]
    assert cached == (64 + 11) * generation["growth_bytes"]


@pytest.mark.full
def test_decode_steps_of_generate(report_of):
    pytest.importorskip("transformers")
    report = report_of("generate.py", "--new", "24", "--batch", "4")
    (generation,) = report["generations"]
    assert generation["module"] == "LlamaForCausalLM" and len(generation["decode_steps"]) == 23
    # the numbers of the tokens grow as well
    assert 0 <= generation["growth_bytes"] - 6 * 2 * 4 * 128 * 2 < 512
    assert generation["prefill"]["peak_bytes"] > 0


def test_marks_as_rows(tmp_path):
    recording = record_python(tmp_path, "marked_training.py", "--layers", "1")
    report = recording.report("--stages", "marks")
    assert "stages" not in report
    allocated = {row["name"]: row["allocated_after_bytes"] for row in report["marks"]}
    assert allocated == json.loads(recording.process.stdout)["marks"]
    wrong = vtrace("report", recording.database, "--stages", "moons")
    assert wrong.returncode == 2 and "auto or marks" in wrong.stderr


@pytest.mark.full
def test_a_recording_without_marks_has_no_such_rows(tmp_path):
    recording = record_python(tmp_path, "training_loops.py", "requests", "--iterations", "1")
    none = vtrace("report", recording.database, "--stages", "marks")
    assert none.returncode == 3 and none.stdout == ""
    assert none.stderr.splitlines() == [f"vtrace: {recording.database}: no marks and no ranges of the program"]


def test_grad_mode_is_recorded(tmp_path):
    recording = record_python(tmp_path, "training_loops.py", "evaluate", "--iterations", "2")
    of_size = ("SELECT DISTINCT grad FROM allocation WHERE kind = 1 AND node_class IS NULL"
               " AND requested_bytes = {} * 512 * 4")
    assert recording.query(of_size.format(4096)) == [(2,)]  # an evaluated batch
    assert recording.query(of_size.format(256)) == [(1,)]  # one that is learned
    recording = record_python(tmp_path, "training_loops.py", "by_hand", "--iterations", "1")
    assert recording.query("SELECT DISTINCT grad FROM allocation WHERE kind = 2") == [(None,)]
