# SPDX-License-Identifier: MIT
"""Train a small GPT with several processes, as torchrun starts them: DistributedDataParallel or FSDP.

The ranks differ only where --large-rank or --fail-rank says so.
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from train_gpt import GPT, Config


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=["gloo", "nccl"], default="gloo")
    parser.add_argument("--sharding", choices=["none", "fsdp", "zero"], default="none")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--large-rank", type=int, default=-1, help="a rank with twice the batch")
    parser.add_argument("--fail-rank", type=int, default=-1, help="a rank that kills itself before the last step")
    return parser.parse_args()


def wrap(model, options):
    if options.sharding != "fsdp":
        return DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def make_optimizer(model, options):
    if options.sharding != "zero":
        return torch.optim.AdamW(model.parameters())
    from torch.distributed.optim import ZeroRedundancyOptimizer
    return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW)


def fail(options, rank):
    """The others have done something that this rank has not, so that it is the first to end."""
    dist.barrier()
    if rank != options.fail_rank:
        torch.ones(1, device="cuda")
    dist.barrier()
    if rank == options.fail_rank:
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    options = parse()
    rank = int(os.environ["RANK"])
    device = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(device)
    dist.init_process_group(options.backend)
    torch.manual_seed(0)
    model = wrap(GPT(Config(vocabulary=4096, layers=4, width=256)).to("cuda"), options)
    optimizer = make_optimizer(model, options)
    batch = options.batch * (2 if rank == options.large_rank else 1)
    for step in range(1, options.steps + 1):
        if options.fail_rank >= 0 and step == options.steps:
            fail(options, rank)
        text = torch.randint(4096, (batch, 257)).to("cuda")
        loss = model(text[:, :-1], text[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(f"rank {rank} peak {torch.cuda.max_memory_allocated()} bytes", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
