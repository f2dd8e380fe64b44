# SPDX-License-Identifier: MIT
"""Trains blocks of two layers in FSDP2 (argument fsdp) or in DistributedDataParallel (ddp), the rank from torchrun's
variables; writes what the rank took to standard output.  A second argument is the backend, else PyTorch's own choice.
"""
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

NR_BLOCKS, WIDTH, NR_STEPS = 4, 512, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


def wrap(model, mode):
    if mode == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    for block in model:
        fully_shard(block)
    fully_shard(model)
    return model


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(*sys.argv[2:3])
    model = wrap(nn.Sequential(*(Block() for _ in range(NR_BLOCKS))).cuda(), sys.argv[1])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(NR_STEPS):
        model(torch.zeros(8, 16, WIDTH, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    free, total = torch.cuda.mem_get_info()
    dist.barrier()
    if dist.get_rank() + 1 == dist.get_world_size() or "VTRACE_SIM_RANK" in os.environ:
        print(json.dumps({"rank": dist.get_rank(), "ranks": dist.get_world_size(),
                          "peak": torch.cuda.max_memory_allocated(), "outside": total - free -
                          torch.cuda.memory_reserved()}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
