# SPDX-License-Identifier: MIT
"""Several processes: data-parallel replicas, shards of FSDP2, tensor parallelism."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from program import case, main, stage
from torch import nn

V, B, T = 8000, 8, 112


class Attend(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (-1, 32)).transpose(1, 2) for part in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Feed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width), nn.Linear(
            3 * width, width)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attend, self.feed = Attend(width), Feed(width)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, width=256, depth=3):
        super().__init__()
        self.words, self.layers = nn.Embedding(V, width), nn.ModuleList(Layer(width) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, V, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


ROLES = {":Attend": "attention", ":Feed": "mlp"}
# What FSDP2 moves through buffers of its own; the parameters and gradients themselves are seen as such.
SHARDED = {"foreach_all_gather": "communication", "foreach_reduce": "communication", "alloc_storage": "weights",
           "init_all_gather_outputs": "weights"}


def train(model, optimizer, steps=3, call=None):
    for _ in range(steps):
        ids = torch.randint(0, V, (B, T)).cuda()
        scores = (call or model)(ids)
        loss = F.cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def join(backend):
    if "RANK" not in os.environ:
        os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group(backend)


# The ranks of DistributedDataParallel compare the shapes of their parameters, which they read from the device.
@case(family="DistributedDataParallel", mode="one rank, gloo, fp32", roles=ROLES, heads=["*head"], steps=3,
      functions={"DistributedDataParallel._pre_forward": "gradients", "_ddp_init_helper": "gradients"},
      stages=("forward", "backward", "optimizer"), env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def ddp_alone():
    join("gloo")
    model = nn.parallel.DistributedDataParallel(Decoder().cuda())
    train(model, torch.optim.AdamW(model.parameters()))
    dist.destroy_process_group()


@case(family="DistributedDataParallel", mode="two ranks, nccl, autocast bf16, buckets as views", roles=ROLES,
      heads=["*head"], steps=3, stages=("forward", "backward", "optimizer"), ranks=2, device="h100-80g,count=2",
      env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def ddp_of_two():
    join("nccl")
    device = int(os.environ["LOCAL_RANK"])
    model = nn.parallel.DistributedDataParallel(Decoder().cuda(), device_ids=[device], gradient_as_bucket_view=True)

    def call(ids):
        with torch.autocast("cuda", torch.bfloat16):
            return model(ids)

    train(model, torch.optim.AdamW(model.parameters()), call=call)
    dist.destroy_process_group()


def shard(model, **options):
    from torch.distributed.fsdp import fully_shard
    for layer in model.layers:
        fully_shard(layer, **options)
    return fully_shard(model, **options)


def imagined(nr):
    """One rank of many: the others are not there, and collectives change nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=nr)


@case(family="FSDP2", mode="two ranks, nccl, fp32", roles=ROLES, heads=["head"], functions=SHARDED, steps=3,
      stages=("forward", "backward", "optimizer"), ranks=2, device="h100-80g,count=2")
def fsdp_of_two():
    join("nccl")
    model = shard(Decoder().cuda())
    train(model, torch.optim.AdamW(model.parameters()))
    dist.destroy_process_group()


@case(family="FSDP2", mode="one rank of four, bf16 parameters, gradients reduced in fp32, clipped", roles=ROLES,
      heads=["head"], functions=SHARDED, steps=3, stages=("forward", "backward", "optimizer"))
def fsdp_of_four():
    from torch.distributed.fsdp import MixedPrecisionPolicy
    imagined(4)
    model = shard(Decoder().cuda(), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        ids = torch.randint(0, V, (B, T)).cuda()
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


# What DTensor sums or gathers.
SUMMED = {"all_reduce": "communication", "all_gather_tensor": "communication", "reduce_scatter_tensor": "communication"}


@case(family="tensor parallel", mode="one rank of two, trained", roles=ROLES, heads=["head"], functions=SUMMED, steps=3,
      stages=("forward", "backward", "optimizer"))
def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    imagined(2)
    mesh = init_device_mesh("cuda", (2,))
    model = Decoder().cuda()
    plan = {"attend.q": ColwiseParallel(), "attend.k": ColwiseParallel(), "attend.v": ColwiseParallel(),
            "attend.o": RowwiseParallel(), "feed.up": ColwiseParallel(), "feed.gate": ColwiseParallel(),
            "feed.down": RowwiseParallel()}
    for layer in model.layers:
        parallelize_module(layer, mesh, plan)
    train(model, torch.optim.AdamW(model.parameters(), foreach=False))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
