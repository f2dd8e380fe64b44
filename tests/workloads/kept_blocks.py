# SPDX-License-Identifier: MIT
"""A model whose blocks are kept for what does not make them, trained with every kind of activation checkpointing.

Prints, as JSON, the addresses of storages at two moments of the last step: behind its forward ("forward") and inside
its backward pass, when the first block's output has its gradient ("backward").
"""
import ctypes
import json

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

mark = ctypes.CDLL(None).vtrace_mark
WIDTH = 256


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x):
        return torch.softmax(self.query(x) @ self.key(x).transpose(-1, -2), -1) @ self.value(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Recompute(torch.autograd.Function):
    """A checkpoint as people write it."""

    @staticmethod
    def forward(ctx, block, x, *parameters):
        ctx.block, ctx.nr = block, len(parameters)
        ctx.save_for_backward(x)
        with torch.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x)
        torch.autograd.backward(y, gradient)
        return (None, x.grad) + (None,) * ctx.nr


WAYS = {
    "plain": lambda block, x: block(x),
    "reentrant": lambda block, x: checkpoint(block, x, use_reentrant=True),
    "not reentrant": lambda block, x: checkpoint(block, x, use_reentrant=False),
    "by hand": lambda block, x: Recompute.apply(block, x, *block.parameters()),
}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in WAYS)
        self.last = nn.Linear(WIDTH, 1)
        self.addresses = {}

    def forward(self, x, hook):
        x = self.first(x)
        for i, (block, (way, run)) in enumerate(zip(self.blocks, WAYS.items())):
            self.addresses[f"into {way}"] = x.data_ptr()
            x = run(block, x)
            if i == 0:
                x.register_hook(hook)
        return self.last(x)


def main():
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    facts = {}

    def note_norm(module, arguments, output):
        model.addresses["norm"] = output.data_ptr()

    def in_backward(gradient):
        facts["gradient"] = gradient.data_ptr()
        facts["query gradient"] = model.blocks[1].attention.query.weight.grad.data_ptr()
        mark(f"backward {step}".encode())

    model.blocks[0].norm.register_forward_hook(note_norm)
    for step in range(3):
        batch = torch.randn(4, 32, 64).cuda()
        loss = model(batch, in_backward).square().mean()
        mark(f"forward {step}".encode())
        loss.backward()
        torch.cuda.synchronize()
        optimizer.step()
        optimizer.zero_grad()
    facts["weight"] = model.first.weight.data_ptr()
    facts["moment"] = optimizer.state[model.first.weight]["exp_avg"].data_ptr()
    print(json.dumps(facts | model.addresses))


if __name__ == "__main__":
    main()
