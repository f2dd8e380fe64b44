# SPDX-License-Identifier: MIT
"""`vtrace export` as files of PyTorch's profiler and of Chrome, opened by what reads those."""
import pytest
from exported import export, peaks, query_trace, recording, run_viewer, training  # noqa: F401


def test_chrome_counters_have_our_peaks(recording, tmp_path):  # noqa: F811
    trace = query_trace(export(recording.database, "chrome", tmp_path / "run.json"))
    assert {device: {"allocated": trace["counters"][f"cuda:{device} allocated bytes"]["most"],
                     "used": trace["counters"][f"cuda:{device} device used bytes"]["most"]}
            for device in peaks(recording)} == peaks(recording)


def test_chrome_has_stages_and_steps(training, tmp_path):  # noqa: F811
    trace = query_trace(export(training.database, "chrome", tmp_path / "run.json"))
    assert {"step 1", "step 2", "load", "forward", "backward", "optimizer", "Optimizer.step#AdamW.step"} <= {
        row["name"] for row in trace["slices"]}
    assert [row["name"] for row in trace["processes"]] == ["train_gpt.py"]


def test_kineto_is_a_trace_of_the_profiler(recording, tmp_path):  # noqa: F811
    """The TensorBoard plugin finds our peaks in the memory events, HolisticTraceAnalysis the ranges."""
    if not peaks(recording):
        pytest.skip("nothing allocated")
    found = run_viewer("hta", "read_kineto.py", "kineto", export(recording.database, "kineto", tmp_path / "run.json"))
    assert found["peaks"] == {str(device): peak["allocated"] for device, peak in peaks(recording).items()}
    assert found["types"] == ["CUDA"]


def test_kineto_names_steps_as_the_profiler_does(training, tmp_path):  # noqa: F811
    found = run_viewer("hta", "read_kineto.py", "kineto", export(training.database, "kineto", tmp_path / "run.json"))
    assert found["slices"][:2] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert {"load", "forward", "backward", "optimizer", "Optimizer.step#AdamW.step"} <= set(found["slices"])
    assert found["rank"] == 0


def test_memory_timeline_adds_up_to_our_peak(recording, tmp_path):  # noqa: F811
    for device, peak in peaks(recording).items():
        path = export(recording.database, "memory-timeline", tmp_path / f"{device}.raw.json.gz", "--device", device)
        found = run_viewer("hta", "read_kineto.py", "memory-timeline", path)
        assert (found["peak"], found["ordered"]) == (peak["allocated"], True) and found["least"] >= 0


def test_memory_timeline_has_the_profilers_categories(training, tmp_path):  # noqa: F811
    found = run_viewer("hta", "read_kineto.py", "memory-timeline",
                       export(training.database, "memory-timeline", tmp_path / "run.raw.json.gz"))
    owners = {row["owner"]: row["bytes"] for row in training.report("--at", "most-allocated")["devices"][0]["peak"][
        "owners"]}
    assert found["most"]["Optimizer state"] == owners["optimizer"]
    assert found["most"]["Parameter"] >= owners["weights"] and found["most"]["Activation"] > 0
