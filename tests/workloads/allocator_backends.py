# SPDX-License-Identifier: MIT
"""A few training steps on the allocator that the environment chooses, or on a pluggable one (a library's path)."""
import ctypes
import sys

import torch
from torch import nn

mark = ctypes.CDLL(None).vtrace_mark


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def main():
    if len(sys.argv) > 1:
        allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "plain_alloc", "plain_free")
        torch.cuda.memory.change_current_allocator(allocator)
    # Sizes that PyTorch's own allocator does not round.
    model = nn.Sequential(*(Block(256) for _ in range(3))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(4):
        batch = torch.randn(512, 256, device="cuda")
        loss = model(batch).square().sum()
        if step == 3:
            mark(b"forward done")
        loss.backward()
        if step == 3:
            mark(b"backward done")
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
