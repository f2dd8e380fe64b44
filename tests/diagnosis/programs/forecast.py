# SPDX-License-Identifier: MIT
"""A temporal convolutional net forecasts series; last night's forecasts are drawn from all windows."""
# variants: clean predictions-gathered results-kept graph-unused
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class Causal(nn.Module):
    def __init__(self, width, gap):
        super().__init__()
        self.gap, self.filter, self.gate = gap, nn.Conv1d(width, width, 3, dilation=gap), nn.Conv1d(
            width, width, 3, dilation=gap)

    def forward(self, x):
        padded = F.pad(x, (2 * self.gap, 0))
        return x + torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))


class Forecaster(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.enter = nn.Conv1d(8, width, 1)
        self.stack = nn.Sequential(*(Causal(width, 2 ** i) for i in range(6)))
        self.leave = nn.Conv1d(width, 9, 1)

    def forward(self, series):
        return self.leave(self.stack(self.enter(series)))


def pinball(quantiles, goal):
    off = goal[:, :1] - quantiles
    return torch.maximum(0.1 * off, -0.9 * off).mean()


class Loop:
    def __init__(self):
        self.model = Forecaster().cuda()
        self.optimizer = adamw(self.model.parameters())

    def fit(self, steps):
        for _ in range(steps):
            series = torch.zeros(32, 8, 512, device="cuda")
            quantiles = self.model(series)
            loss = pinball(quantiles, series)
            loss.backward(retain_graph=VARIANT == "results-kept")
            self.optimizer.step()
            self.optimizer.zero_grad()
            if VARIANT == "results-kept" and not mistake("results-kept"):
                del quantiles, loss

    def forecast(self, windows):
        everything = []
        with torch.set_grad_enabled(mistake("graph-unused")):
            for _ in range(windows):
                quantiles = self.model(torch.zeros(192, 8, 512, device="cuda")).detach()
                everything.append(quantiles if mistake("predictions-gathered") else quantiles.to("cpu"))
        return torch.stack(everything).amax().item()


loop = Loop()
for _ in range(2):
    loop.fit(4)
    if VARIANT != "results-kept":
        print(loop.forecast(60 if VARIANT == "predictions-gathered" else 4))
