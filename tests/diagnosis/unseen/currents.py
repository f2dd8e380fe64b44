# SPDX-License-Identifier: MIT
"""A neural ordinary differential equation of flows in time, integrated by Runge-Kutta with fixed steps."""
# variants: clean results-kept graph-unused growth
import torch
from torch import nn

from advice import VARIANT, call, mistake


class Field(nn.Module):
    def __init__(self, size=512):
        super().__init__()
        self.enter, self.middle, self.leave = nn.Linear(size + 1, 768), nn.Linear(768, 768), nn.Linear(768, size)

    def forward(self, t, y):
        t = t.expand(y.shape[0], 1)
        h = torch.tanh(self.enter(torch.cat([y, t], dim=1)))
        h = torch.tanh(self.middle(h))
        return self.leave(h)


def rk4(f, y, steps):
    h = 1.0 / steps
    for k in range(steps):
        t = torch.tensor([[k * h]], device=y.device)
        k1 = call(f, t, y)
        k2 = call(f, t + h / 2, y + h / 2 * k1)
        k3 = call(f, t + h / 2, y + h / 2 * k2)
        k4 = call(f, t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


field = Field().cuda()
opt = torch.optim.SGD(field.parameters(), lr=1e-3, momentum=0.9, foreach=False)
curve = []
for epoch in range(7):
    start = torch.randn(1024, 512).cuda()
    end = rk4(field, start, 6)
    loss = (end - start.roll(1, 0)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=VARIANT in ("results-kept", "growth"))
    opt.step()
    curve.append(loss if mistake("growth") else float(loss))
    if VARIANT != "clean" and not mistake("results-kept"):
        del end, loss
    if epoch % 3 == 2 and VARIANT in ("clean", "graph-unused"):
        if mistake("graph-unused"):
            far = rk4(field, torch.randn(2048, 512).cuda(), 6)
        else:
            with torch.inference_mode():
                far = rk4(field, torch.randn(2048, 512).cuda(), 6)
        print("drift", far.norm().item())
        del far
