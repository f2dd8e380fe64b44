# SPDX-License-Identifier: MIT
"""Where PyTorch reports no blocks, the driver's allocations are the blocks: the same owners and stacks."""
from collections import Counter

import pytest

from recording import BUILD, record_python

PLUGGABLE = BUILD / "tests" / "workloads" / "pluggable_allocator.so"
# (arguments, environment, the driver's kind of memory)
BACKENDS = {
    "cudaMallocAsync": ((), {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "pool"),
    "no cache": ((), {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "segment"),
    "pluggable": ((PLUGGABLE,), {}, "segment"),
}
ROUNDING = 512


def live(recording, when):
    """{(owner, bytes, Python frames, frames of the forward call): how many}, what is pinned left out."""
    return Counter((b["owner"], -(-b["size_bytes"] // ROUNDING), tuple(b["python"]), tuple(b["forward_python"]))
                   for b in recording.blocks(when)["blocks"] if b["kind"] != "pinned")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    recording = record_python(tmp_path_factory.mktemp("blocks"), "allocator_backends.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


@pytest.mark.parametrize("backend", BACKENDS)
def test_owners_and_stacks_are_those_of_blocks(backend, blocks, tmp_path):
    arguments, environment, kind = BACKENDS[backend]
    recording = record_python(tmp_path, "allocator_backends.py", *arguments, env=environment)
    assert recording.process.returncode == 0, recording.process.stderr
    kinds = {name for name, in recording.query("SELECT DISTINCT k.name FROM allocation a JOIN memory_kind k"
                                               " ON k.id = a.kind")}
    assert "block" not in kinds and kind in kinds
    for when in ("mark:forward done", "mark:backward done"):
        assert live(recording, when) == live(blocks, when)
    # Each gradient by the name of its parameter.
    named = [key for key in live(recording, "mark:backward done") if key[0].startswith("gradients/")]
    assert len(named) == 18
    assert recording.report()["devices"][0]["peak"]["difference_bytes"] == 0
