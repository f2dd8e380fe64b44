# SPDX-License-Identifier: MIT
"""A denoiser with skip connections; samples are scored after each epoch."""
# variants: graph clean
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised


class Double(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.first, self.second = nn.Conv2d(inside, outside, 3, padding=1), nn.Conv2d(outside, outside, 3, padding=1)
        self.norm = nn.GroupNorm(8, outside)

    def forward(self, x):
        return F.silu(self.second(F.silu(self.norm(self.first(x)))))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, 32, 3, padding=1)
        self.down = nn.ModuleList([Double(32, 32), Double(32, 64), Double(64, 128)])
        self.up = nn.ModuleList([Double(192, 64), Double(96, 32)])
        self.leave = nn.Conv2d(32, 3, 1)

    def forward(self, x):
        x, skips = self.enter(x), []
        for i, block in enumerate(self.down):
            x = block(x if not i else F.avg_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2.0), skips.pop()], 1))
        return self.leave(x)


model = Denoiser().cuda()
optimizer = adamw(model.parameters())
for epoch in range(2):
    for _ in range(3):
        images = torch.zeros(16, 3, 64, 64).cuda()
        optimizer.zero_grad()
        F.mse_loss(model(images + 0.1), images).backward()
        optimizer.step()
    model.eval()
    total = 0.0
    with torch.set_grad_enabled(VARIANT == "graph" and not advised("graph-unused")):
        for _ in range(3):
            images = torch.zeros(48, 3, 64, 64).cuda()
            total += F.mse_loss(model(images + 0.1), images).item()
    model.train()
