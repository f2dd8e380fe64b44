# SPDX-License-Identifier: MIT
"""A little training under PyTorch's own memory history, and its snapshot at the mark "dumped"."""
import argparse
import ctypes

import torch


def train(steps):
    """What is alive at the end, with a segment that was given back and one that is free."""
    model = torch.nn.Sequential(*(torch.nn.Linear(500, 500) for _ in range(4))).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    for _ in range(steps):
        output = model(torch.randn(256, 500, device="cuda"))
        output.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.empty(48 << 20, dtype=torch.uint8, device="cuda")
    return model, optimizer, output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("snapshot", help="the file to write")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.cuda.memory._record_memory_history(stacks="python")
    kept = train(options.steps)
    getattr(ctypes.CDLL(None), "vtrace_mark", len)(b"dumped")
    torch.cuda.memory._dump_snapshot(options.snapshot)
    print(torch.cuda.max_memory_allocated())
    del kept


if __name__ == "__main__":
    main()
