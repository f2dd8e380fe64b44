# SPDX-License-Identifier: MIT
"""
Graphs in two ways: a pair made by make_graphed_callables and one captured by hand, which is given back.

At marks, prints what PyTorch says as JSON lines: reserved and allocated bytes, those of the private pools and of
segments without a live block in the usual pool.
"""
import ctypes
import json

import torch


def mark(name):
    torch.cuda.synchronize()
    usual, private = [], []
    for segment in torch.cuda.memory_snapshot():
        (private if tuple(segment["segment_pool_id"]) != (0, 0) else usual).append(segment)
    print(json.dumps({
        "mark": name,
        "reserved": torch.cuda.memory_reserved(),
        "allocated": torch.cuda.memory_allocated(),
        "private_idle": sum(s["total_size"] - s["allocated_size"] for s in private),
        "free_segments": sum(s["total_size"] for s in usual if not s["allocated_size"]),
    }))
    recorder = ctypes.CDLL(None)
    if hasattr(recorder, "vtrace_mark"):
        recorder.vtrace_mark(name.encode())


def hidden(sample, weight):
    """Most of what it makes is free again when it returns, and needed for every replay."""
    wide = torch.relu(torch.cat([sample] * 64) @ weight)
    return wide[:64].clone()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).to("cuda")
    sample = torch.randn(64, 512, device="cuda", requires_grad=True)
    weight = torch.randn(512, 4096, device="cuda")
    spare = torch.empty(8 << 20, device="cuda")
    del spare
    graphed = torch.cuda.make_graphed_callables(model, (sample,))
    for _ in range(2):
        graphed(sample).sum().backward()
    mark("graphed")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        answer = hidden(sample, weight)
    graph.replay()
    mark("captured")
    torch.cuda.empty_cache()
    mark("emptied")
    graph.reset()
    mark("reset")
    torch.cuda.empty_cache()
    mark("given back")
    print(tuple(answer.shape))


if __name__ == "__main__":
    main()
