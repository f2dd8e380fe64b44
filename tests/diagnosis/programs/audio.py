# SPDX-License-Identifier: MIT
"""Inference with a model of sound: nobody switched autograd off."""
# variants: graph clean
import torch
from torch import nn

from advice import VARIANT, advised


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Conv1d(width, 2 * width, 5, padding=2), nn.Conv1d(2 * width, width, 5, padding=2)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(self.norm(x))))


class Sound(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(1, 64, 16, 8)
        self.blocks = nn.Sequential(*(Block(64) for _ in range(6)))
        self.leave = nn.Linear(64, 30)

    def forward(self, wave):
        return self.leave(self.blocks(self.enter(wave)).mean(-1))


model = Sound().cuda().eval()
with torch.set_grad_enabled(VARIANT == "graph" and not advised("graph-unused")):
    for _ in range(5):
        print(model(torch.zeros(32, 1, 16000).cuda()).argmax(-1).sum().item())
