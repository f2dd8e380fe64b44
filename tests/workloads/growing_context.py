# SPDX-License-Identifier: MIT
"""Trains a little while the context grows: modules are loaded between steps, as kernels' code is when they first run.
`growing_context.py MODE MODULES`; MODE `graphs` replays a CUDA graph too, `limits` sets limits of the context, and
`late` loads a library when all is allocated."""
import ctypes
import sys

import torch


def load_module(cuda):
    module = ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), b"code") == 0


def load_library(cuda):
    """Its code comes when kernels are first used, so the recorder does not ask what it took."""
    library = ctypes.c_void_p()
    assert cuda.cuLibraryLoadData(ctypes.byref(library), b"code", None, None, 0, None, None, 0) == 0


def set_limits(cuda):
    """Stacks of all threads; the device's heap, which takes nothing until a kernel wants it."""
    assert cuda.cuCtxSetLimit(0, ctypes.c_size_t(4096)) == 0
    torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.cuCtxSetLimit(2, ctypes.c_size_t(64 << 20)) == 0


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
    if mode == "limits":
        set_limits(cuda)
    # The highest use, once all is loaded, in pieces that end nowhere.
    kept += [torch.empty(n * 1000 + 1, dtype=torch.uint8, device="cuda") for n in range(1, 200, 7)]
    kept.append(torch.empty(100 << 20, dtype=torch.uint8, device="cuda"))
    if mode == "late":
        load_library(cuda)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
