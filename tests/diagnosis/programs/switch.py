# SPDX-License-Identifier: MIT
"""A sparse mixture of experts: each token goes to one expert with a fixed capacity."""
# variants: clean gradients-in-forward module-unused results-kept
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, call, mistake

WIDTH, EXPERTS, CAPACITY = 256, 8, 256


class Switch(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.router = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 1024), nn.SiLU(), nn.Linear(1024, WIDTH))
                                     for _ in range(EXPERTS))

    def forward(self, x):
        y = self.norm(x)
        gates = self.router(y).softmax(-1)
        out = torch.zeros_like(y)
        for e, expert in enumerate(self.experts):
            weights, chosen = gates[:, e].topk(CAPACITY)
            out = out.index_add(0, chosen, expert(y[chosen]) * weights[:, None])
        return x + out


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.hops = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(5))

    def forward(self, x):
        for hop in self.hops:
            x = hop(x).relu()
        return x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Switch() for _ in range(4))
        self.out = nn.Linear(WIDTH, 12)
        if VARIANT == "module-unused" and not advised("module-unused"):
            self.retriever = Retriever()

    def forward(self, x):
        for layer in self.layers:
            x = call(layer, x)
        return self.out(x)


model = Network().cuda()
optimizer = adamw(model.parameters())
for _ in range(4):
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    x = torch.zeros(4096, WIDTH).cuda()
    scores = model(x)
    loss = F.cross_entropy(scores, torch.zeros(4096, dtype=torch.long).cuda())
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward(retain_graph=VARIANT == "results-kept")
    optimizer.step()
    if VARIANT == "results-kept" and not mistake("results-kept"):
        del loss, scores
