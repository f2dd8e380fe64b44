# SPDX-License-Identifier: MIT
"""Trains a little while the context grows: modules are loaded between steps, as kernels' code is when they first run.
`growing_context.py MODE MODULES`; MODE `graphs` replays a CUDA graph too."""
import ctypes
import sys

import torch


def load_module(cuda):
    module = ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), b"code") == 0


def step(model, optimizer, inputs):
    optimizer.zero_grad()
    model(inputs).sum().backward()
    optimizer.step()


def replay(model):
    graph, inputs = torch.cuda.CUDAGraph(), torch.ones(64, 300, device="cuda")
    with torch.no_grad(), torch.cuda.graph(graph):
        model(inputs)
    graph.replay()
    return graph


def main():
    mode, modules = sys.argv[1], int(sys.argv[2])
    cuda = ctypes.CDLL("libcuda.so.1")
    model = torch.nn.Sequential(torch.nn.Linear(300, 900), torch.nn.ReLU(), torch.nn.Linear(900, 7)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.ones(3000, 300, device="cuda")
    kept = []
    for _ in range(modules):
        step(model, optimizer, inputs)
        load_module(cuda)
    if mode == "graphs":
        kept.append(replay(model))
    # The highest use, once all is loaded, in pieces that end nowhere.
    kept += [torch.empty(n * 1000 + 1, dtype=torch.uint8, device="cuda") for n in range(1, 200, 7)]
    kept.append(torch.empty(100 << 20, dtype=torch.uint8, device="cuda"))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
