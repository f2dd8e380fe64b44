# SPDX-License-Identifier: MIT
"""An energy of pictures: samples walk down its gradient from a memory of earlier samples, then enter the loss."""
# variants: clean results-kept growth gradients-in-forward
import random

import torch
from torch import nn

from advice import VARIANT, adamw, call, mistake


class Energy(nn.Module):
    def __init__(self, c=96):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, c, 5, 2, 2), nn.SiLU(), nn.Conv2d(c, 2 * c, 3, 2, 1), nn.SiLU(),
                                  nn.Conv2d(2 * c, 4 * c, 3, 2, 1), nn.SiLU(), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(4 * c * 64, 512), nn.SiLU(), nn.Linear(512, 1))

    def forward(self, x):
        for part in [*self.conv, *self.head]:
            x = call(part, x)
        return x.squeeze(1)


class Memory:
    def __init__(self, room):
        self.room, self.kept = room, []

    def draw(self, n):
        old = random.sample(self.kept, min(n // 2, len(self.kept)))
        new = torch.rand(n - len(old), 3, 64, 64).cuda()
        return torch.cat([torch.stack(old), new]) if old else new

    def add(self, samples):
        self.kept.extend(samples.unbind(0))
        if not mistake("growth"):
            del self.kept[:-self.room]


random.seed(0)
net = Energy().cuda()
opt = adamw(net.parameters(), lr=1e-4)
memory = Memory(64)
n = 128 if VARIANT == "growth" else 32
for step in range(10 if VARIANT == "growth" else 4):
    x = memory.draw(n)
    for p in net.parameters():
        p.requires_grad_(False)
    for _ in range(4):
        x.requires_grad_()
        g, = torch.autograd.grad(net(x).sum(), x)
        x = (x - 0.01 * g + 0.005 * torch.randn_like(x)).detach()
    for p in net.parameters():
        p.requires_grad_(True)
    memory.add(x.clone())
    real = torch.rand(n, 3, 64, 64).cuda()
    if not mistake("gradients-in-forward"):
        opt.zero_grad(set_to_none=True)
    low, high = net(real), net(x)
    loss = low.mean() - high.mean() + 0.1 * (low ** 2 + high ** 2).mean()
    if mistake("gradients-in-forward"):
        opt.zero_grad(set_to_none=True)
    loss.backward(retain_graph=VARIANT == "results-kept")
    opt.step()
    if not mistake("results-kept"):
        del low, high, loss
    del x, real, g
    if not mistake("gradients-in-forward"):
        opt.zero_grad()
