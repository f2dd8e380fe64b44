# SPDX-License-Identifier: MIT
"""PyTorch's allocator settings reach the driver as they do on a real device; its counts are the ledger's."""
import json

import pytest


def sizes(run, function):
    return [int(line.split()[5]) for line in run.lines
            if not line.startswith("#") and line.split()[-1] == function and line.split()[1] == "alloc"]


def test_segments_are_the_driver_allocations(simulate):
    run = simulate("memory_stats.py")
    stats = json.loads(run.output)
    allocated = run.calls()["cuMemAlloc_v2"]
    assert stats["segments_allocated"] == allocated > 0
    assert stats["peak_reserved_bytes"] <= sum(sizes(run, "cuMemAlloc_v2"))
    # Half of the large tensors were freed and their segments given back.
    assert stats["segments_freed"] == 1


def test_expandable_segments(simulate):
    run = simulate("memory_stats.py", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    calls = run.calls()
    assert calls["cuMemAlloc_v2"] == 0
    assert calls["cuMemCreate"] > 0 and calls["cuMemMap"] >= calls["cuMemCreate"]
    assert calls["cuMemAddressReserve"] > 0


def test_malloc_async(simulate):
    run = simulate("memory_stats.py", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    calls = run.calls()
    assert calls["cuMemAlloc_v2"] == 0
    assert calls["cuMemAllocAsync"] == 4
    assert json.loads(run.output)["peak_reserved_bytes"] > 0


def test_without_cache(simulate):
    run = simulate("memory_stats.py", PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    assert sizes(run, "cuMemAlloc_v2") == [3 << 20, 100, 30 << 20, 11 << 20]
    assert json.loads(run.output)["segments_allocated"] == 0


@pytest.mark.full
@pytest.mark.parametrize("name, value", [
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
    ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"),
    ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64"),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),
])
def test_training_under_each_setting(simulate, name, value):
    assert "step 4 " in simulate("train_gpt.py", **{name: value}).output


def test_out_of_memory_is_pytorch_own(simulate):
    run = simulate("out_of_memory.py", profile="h100-80g,memory=4GiB")
    assert "OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of " \
           "4.00 GiB" in run.output
    # 4 GiB less the context holds 13 tensors of 256 MiB or more, never all 16.
    assert 13 <= run.number(r"kept (\d+)") <= 15
    assert run.number(r"ooms (\d+)") == 1 and run.number(r"retries (\d+)") == 1
    assert "reserved after 0 bytes" in run.output


@pytest.mark.full
def test_out_of_memory_with_expandable_segments(simulate):
    run = simulate("out_of_memory.py", profile="h100-80g,memory=4GiB",
                   PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert "OutOfMemoryError: CUDA out of memory." in run.output


def test_uncaught_out_of_memory_ends_the_program(simulate):
    run = simulate.unchecked("out_of_memory.py", "--uncaught", profile="h100-80g,memory=4GiB")
    assert run.status == 1
    assert "torch.OutOfMemoryError: CUDA out of memory." in run.errors
