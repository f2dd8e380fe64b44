# SPDX-License-Identifier: MIT
"""Unmodified PyTorch wheels train on the simulated device."""
import json

import pytest

from recording import LIBRARY


def test_device_is_that_of_the_profile(simulate):
    answer = json.loads(simulate("device_info.py", profile="a100-80g,count=2").output)
    assert answer["available"] and answer["count"] == 2
    assert answer["name"].startswith("NVIDIA A100")
    assert answer["capability"] == [8, 0] and answer["multiprocessors"] == 108
    free, total = answer["mem_get_info"]
    assert 0 < free < total == answer["total_bytes"]


def test_memory_of_the_profile_can_be_set(simulate):
    answer = json.loads(simulate("device_info.py", profile="h100-80g,memory=4GiB").output)
    assert answer["total_bytes"] == 4 << 30


def test_mlp(simulate):
    run = simulate("train_mlp.py")
    assert run.output.count("step ") == 3
    assert run.calls()["cuMemAlloc_v2"] > 0


FULL = pytest.mark.full

GPT = [
    pytest.param([], id="bf16"),
    pytest.param(["--optimizer", "fused", "--precision", "fp16", "--checkpointing"], id="fused-scaler-checkpointing",
                 marks=FULL),
    pytest.param(["--precision", "fp32"], id="fp32", marks=FULL),
    pytest.param(["--optimizer", "fused"], id="fused", marks=FULL),
    pytest.param(["--precision", "fp16"], id="scaler", marks=FULL),
]


@pytest.mark.parametrize("options", GPT)
def test_gpt(simulate, options):
    run = simulate("train_gpt.py", *options)
    assert "step 4 " in run.output
    # Weights, gradients and two moments of 59 million fp32 parameters, and activations on top.
    assert run.number(r"step 4 .* peak (\d+) bytes") > 4 * 4 * 59_000_000


@FULL
def test_checkpointing_saves_memory(simulate):
    def peak(*arguments):
        return simulate("train_gpt.py", "--batch", "16", *arguments).number(r"step 4 .* peak (\d+) bytes")

    assert peak("--checkpointing") < 0.95 * peak()


def test_what_is_read_from_the_device_is_zero(simulate):
    """A block of PyTorch's allocator has nothing of the block that was there before."""
    assert simulate("scaled_training.py").output == "performed 8 of 8 losses [0.0]\n"


def test_it_is_zero_under_the_recorder_too(simulate, tmp_path):
    """Which replaces the same function of PyTorch, in front of the simulator."""
    run = simulate("scaled_training.py", VTRACE_PRELOAD=str(LIBRARY), VTRACE_OUTPUT=str(tmp_path / "run.db"))
    assert run.output == "performed 8 of 8 losses [0.0]\n"
    assert (tmp_path / "run.db").exists() or (tmp_path / "run.journal").exists()


def test_convolution(simulate):
    assert simulate("convolution.py").output.count("step ") == 3


def test_pinned_memory_streams_and_data_loader(simulate):
    output = simulate("transfers.py").output
    assert "pinned True equal True" in output
    assert "events ordered True done True" in output
    assert "loaded True" in output


def test_cuda_graph(simulate):
    assert "private pool True" in simulate("cuda_graph.py").output


def test_memory_history_and_summary(simulate):
    run = simulate("memory_history.py")
    assert run.number(r"recorded (\d+)") == run.number(r"counted (\d+)") > 0
    assert "PyTorch CUDA memory summary" in run.output


def test_same_script_gives_the_same_ledger(simulate):
    def events():
        # Comments name the thread ids of the process.
        return [line for line in simulate("train_mlp.py").lines if not line.startswith("#")]

    assert events() == events() != []
