# SPDX-License-Identifier: MIT
"""A mixture of experts that trains: a loop over experts, as transformers' eager models have it, or one grouped product.

    routed_experts.py loop|grouped [--checkpoint]

Prints what the second forward pass keeps for its backward pass, and how many tokens each expert got, as JSON.
"""
import argparse
import json

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

TOKENS, WIDTH, INNER, EXPERTS, CHOSEN, LAYERS = 4096, 1024, 1024, 16, 4, 3


class Experts(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how, self.counts = how, None
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.zeros(EXPERTS, WIDTH, 2 * INNER))
        self.down = nn.Parameter(torch.zeros(EXPERTS, INNER, WIDTH))

    def route(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(CHOSEN, -1)
        return weights / weights.sum(-1, keepdim=True), chosen

    def loop(self, x, weights, chosen):
        result = torch.zeros_like(x)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        self.counts = mask.sum((1, 2)).tolist()
        for expert in range(EXPERTS):
            place, token = torch.where(mask[expert])
            gate, up = (x[token] @ self.up[expert]).chunk(2, -1)
            y = (F.silu(gate) * up) @ self.down[expert]
            result.index_add_(0, token, y * weights[token, place, None])
        return result

    def grouped(self, x, weights, chosen):
        order = chosen.flatten().argsort()
        token = order // CHOSEN
        ends = torch.histc(chosen.flatten().int(), EXPERTS, 0, EXPERTS - 1).cumsum(0, dtype=torch.int32)
        gate, up = torch._grouped_mm(x[token], self.up, offs=ends).chunk(2, -1)
        y = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        return torch.zeros_like(x).index_add_(0, token, y * weights.flatten()[order, None])

    def forward(self, x):
        weights, chosen = self.route(x)
        return x + getattr(self, self.how)(x, weights, chosen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("loop", "grouped"))
    parser.add_argument("--checkpoint", action="store_true")
    arguments = parser.parse_args()
    layers = nn.ModuleList(Experts(arguments.how) for _ in range(LAYERS)).to("cuda", torch.bfloat16)
    for _ in range(2):
        before = torch.cuda.memory_allocated()
        x = torch.zeros(TOKENS, WIDTH, dtype=torch.bfloat16, device="cuda")
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False) if arguments.checkpoint else layer(x)
        kept = torch.cuda.memory_allocated() - before
        x.float().pow(2).mean().backward()
        layers.zero_grad()
        del x
    print(json.dumps({"kept": kept, "counts": layers[0].counts}))


if __name__ == "__main__":
    main()
