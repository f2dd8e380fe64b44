# SPDX-License-Identifier: MIT
"""Diffusion of one-dimensional signals with an average of the weights; a chain of samples every epoch."""
# variants: clean graph-unused weights-twice results-kept
import copy
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class Block(nn.Module):
    def __init__(self, dim, dilation):
        super().__init__()
        self.conv = nn.Conv1d(dim, 2 * dim, 3, padding=dilation, dilation=dilation)
        self.time = nn.Linear(128, dim)
        self.out = nn.Conv1d(dim, 2 * dim, 1)

    def forward(self, x, t):
        y = x + self.time(t).unsqueeze(-1)
        gate, filter_ = self.conv(y).chunk(2, 1)
        y = torch.sigmoid(gate) * torch.tanh(filter_)
        res, skip = self.out(y).chunk(2, 1)
        return (x + res) / 2 ** 0.5, skip


class WaveDiff(nn.Module):
    def __init__(self, dim=96, layers=12):
        super().__init__()
        self.inp = nn.Conv1d(1, dim, 1)
        self.embed = nn.Sequential(nn.Linear(1, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU())
        self.blocks = nn.ModuleList([Block(dim, 2 ** (i % 6)) for i in range(layers)])
        self.big = nn.Linear(dim, 60000) if VARIANT == "weights-twice" else nn.Identity()
        self.out = nn.Sequential(nn.Conv1d(dim, dim, 1), nn.ReLU(), nn.Conv1d(dim, 1, 1))

    def forward(self, x, t):
        x = F.relu(self.inp(x))
        t = self.embed(t[:, None])
        total = 0
        for block in self.blocks:
            x, skip = block(x, t)
            total = total + skip
        if VARIANT == "weights-twice":
            total = total + self.big(total.mean(-1)).mean()
        return self.out(total)


@torch.no_grad()
def average(slow, fast):
    for p, q in zip(slow.parameters(), fast.parameters()):
        p.lerp_(q, 0.001)


def sample(net, rows):
    x = torch.randn(rows, 1, 1024, device="cuda")
    for k in reversed(range(4)):
        noise = net(x, torch.full((rows,), k / 4, device="cuda"))
        x = (x - 0.1 * noise) / 0.99
    return x


net = WaveDiff().cuda()
if VARIANT == "weights-twice":
    path = os.path.join(tempfile.mkdtemp(), "whole.pt")
    torch.save({"net": net.state_dict(), "ema": net.state_dict()}, path)
    saved = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu")
    net.load_state_dict(saved["net"])
ema = copy.deepcopy(net).eval().requires_grad_(False)
optimizer = adamw(net.parameters(), lr=2e-4)
for epoch in range(2):
    for _ in range(3):
        x0 = torch.zeros(4 if VARIANT == "weights-twice" else 16, 1, 1024, device="cuda")
        t = torch.rand(len(x0), device="cuda")
        noise = torch.randn_like(x0)
        predicted = net(x0 + t[:, None, None] * noise, t)
        loss = F.mse_loss(predicted, noise)
        optimizer.zero_grad()
        loss.backward(retain_graph=VARIANT == "results-kept")
        optimizer.step()
        average(ema, net)
        if not mistake("results-kept"):
            del predicted, loss
    if VARIANT != "results-kept":
        ema.requires_grad_(VARIANT == "graph-unused")
        with torch.set_grad_enabled(mistake("graph-unused")):
            print(sample(ema, 24 if VARIANT == "graph-unused" else 4).std().item())
