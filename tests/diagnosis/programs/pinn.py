# SPDX-License-Identifier: MIT
"""A network that solves a heat equation: the equation's residual is its loss, printed as the mean of some steps."""
# variants: clean growth
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class Field(nn.Module):
    def __init__(self, width=128, depth=5):
        super().__init__()
        sizes = [2] + [width] * depth + [1]
        self.maps = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, points):
        for map_ in self.maps[:-1]:
            points = torch.tanh(map_(points))
        return self.maps[-1](points)


def derivative(of, by):
    return torch.autograd.grad(of.sum(), by, create_graph=True)[0]


field = Field().cuda()
optimizer = adamw(field.parameters(), lr=1e-3)
window = []
for step in range(14):
    points = torch.rand(4096, 2).cuda().requires_grad_()
    value = field(points)
    first = derivative(value, points)
    curvature = derivative(first[:, 0], points)[:, 0]
    residual = first[:, 1] - 0.1 * curvature
    loss = (residual ** 2).mean() + (value ** 2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=VARIANT == "growth")
    optimizer.step()
    window.append(loss if mistake("growth") else loss.item())
    del points, value, first, curvature, residual, loss
    if len(window) == 5:
        print(step, float(sum(window) / 5))
        window.clear()
