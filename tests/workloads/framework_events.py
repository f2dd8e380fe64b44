# SPDX-License-Identifier: MIT
"""What PyTorch does to the recorder: blocks, autograd nodes, named ranges, exceptions, being out of memory.

Leaves marks between its parts and prints one JSON object with what PyTorch itself says about each part.
"""
import ctypes
import json
import sys
import threading

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint

mark = ctypes.CDLL(None).vtrace_mark
facts = {}


def line():
    return sys._getframe(1).f_lineno


def counts():
    stats = torch.cuda.memory_stats()
    names = {"nr_allocs": "allocation.all.allocated", "nr_frees": "allocation.all.freed",
             "alloc_bytes": "allocated_bytes.all.allocated", "free_bytes": "allocated_bytes.all.freed"}
    return {name: stats.get(key, 0) for name, key in names.items()}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x):
        facts["block_line"] = line() + 1
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def train(steps):
    model = nn.Sequential(Block(), Block()).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loss = model(torch.randn(32, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def count_blocks():
    train(1)
    torch.cuda.synchronize()
    before = counts()
    mark(b"counting")
    train(3)
    torch.cuda.synchronize()
    mark(b"counted")
    after = counts()
    facts["counts"] = {name: after[name] - before[name] for name in after}
    facts["allocated_bytes"] = torch.cuda.memory_allocated()
    facts["reserved_bytes"] = torch.cuda.memory_reserved()


def one_backward():
    model = Block().cuda()
    x = torch.randn(32, 64, device="cuda")
    mark(b"forward")
    loss = model(x).sum()
    mark(b"backward")
    loss.backward()
    torch.cuda.synchronize()
    mark(b"backward done")


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        torch.empty(1000, device="cuda")
        raise RuntimeError("planned")


def failing_backward():
    """The node's bracket must end with the exception, on the device's thread and on this one."""
    for device in ("cuda", "cpu"):
        x = torch.randn(100, device=device, requires_grad=True)
        loss = (Failing.apply(x * 2) * 3).sum()
        mark(f"failing on {device}".encode())
        try:
            loss.backward()
        except RuntimeError as error:
            assert "planned" in str(error), error
        mark(f"failed on {device}".encode())
        torch.empty(2000, device="cuda")
        mark(b"after the failure")


def reentrant_backward():
    layer = nn.Linear(64, 64).cuda()
    x = torch.randn(32, 64, device="cuda", requires_grad=True)
    loss = checkpoint(lambda a: torch.relu(layer(a)), x, use_reentrant=True).sum()
    mark(b"checkpoint")
    loss.backward()
    torch.cuda.synchronize()
    mark(b"checkpoint done")


def named_ranges():
    mark(b"ranges")
    with record_function("outer"):
        torch.empty(1000, device="cuda")
        with record_function("inner"):
            torch.empty(2000, device="cuda")
        try:
            with record_function("raising"):
                raise ValueError
        except ValueError:
            torch.empty(3000, device="cuda")
        other = record_function("ended elsewhere")
        other.__enter__()
        thread = threading.Thread(target=lambda: other.__exit__(None, None, None))
        thread.start()
        thread.join()
    torch.empty(4000, device="cuda")
    mark(b"ranges done")


def nvtx_ranges():
    nvtx = torch.cuda.nvtx
    mark(b"nvtx")
    nvtx.range_push("Größe 模型")
    torch.empty(1000, device="cuda")
    nvtx.mark("a point")
    nvtx.range_pop()
    torch.empty(2000, device="cuda")
    started = nvtx.range_start("may overlap")
    torch.empty(3000, device="cuda")
    nvtx.range_end(started)
    mark(b"nvtx done")


def profiled():
    """The reports must still reach PyTorch's own profiler."""
    cpu = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[cpu], profile_memory=True) as profiler:
        torch.empty(12345, device="cuda")
    usage = [getattr(e, "device_memory_usage", getattr(e, "cuda_memory_usage", 0)) for e in profiler.events()]
    facts["profiled_bytes"] = max(usage)


def out_of_memory():
    mark(b"out of memory")
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        facts["out_of_memory_line"] = line() - 2
    mark(b"out of memory done")


def main():
    torch.empty(1, device="cuda")
    for part in (count_blocks, one_backward, failing_backward, reentrant_backward, named_ranges, nvtx_ranges, profiled,
                 out_of_memory):
        part()
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
