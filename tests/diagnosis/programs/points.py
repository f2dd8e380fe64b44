# SPDX-License-Identifier: MIT
"""Clouds of points: shared layers, a maximum over points; losses are listed after each step."""
# variants: clean growth graph-unused results-kept
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 64, 128, 512]
        self.each = nn.ModuleList(nn.Conv1d(a, b, 1) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(w) for w in widths[1:])
        self.whole = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 40))

    def forward(self, points):
        for layer, norm in zip(self.each, self.norms):
            points = norm(layer(points)).relu()
        return self.whole(points.amax(-1))


net = Cloud().cuda()
optimizer = adamw(net.parameters())
history = []
for _ in range(8):
    scores = net(torch.zeros(24, 3, 1024).cuda())
    loss = nn.functional.cross_entropy(scores, torch.zeros(24, dtype=torch.long).cuda(), label_smoothing=0.1)
    loss.backward(retain_graph=VARIANT in ("growth", "results-kept"))
    optimizer.step()
    optimizer.zero_grad()
    history.append(loss if mistake("growth") else loss.item())
    if VARIANT in ("growth", "results-kept") and not mistake("results-kept"):
        del loss, scores
if VARIANT in ("clean", "graph-unused"):
    with torch.set_grad_enabled(mistake("graph-unused")):
        print(net.eval()(torch.zeros(96, 3, 1024).cuda()).argmax(-1).sum().item())
