# SPDX-License-Identifier: MIT
"""Uncertainty by dropout: many forward passes per batch at test time; classification with a wide head."""
# variants: clean predictions-gathered graph-unused states-unused
import torch
from torch import nn

from advice import VARIANT, advised, mistake

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Dropout(0.5), nn.Linear(2048, 2048), nn.ReLU())
        self.upper = nn.Sequential(nn.Dropout(0.5), nn.Linear(2048, 1024), nn.ReLU(), nn.Dropout(0.5))
        self.out = nn.Linear(1024, 5000)

    def forward(self, x):
        x = self.lower(x)
        x = self.upper(x)
        return self.out(x)


model = Net().cuda()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)
for step in range(10):
    if step == 3 and VARIANT == "states-unused":
        for p in model.lower.parameters():
            p.requires_grad = False
            if advised("states-unused"):
                optimizer.state.pop(p, None)
    rows = 8192 if VARIANT == "states-unused" and step >= 3 else 256
    x, y = torch.randn(rows, 2048).cuda(), torch.zeros(rows, dtype=torch.long).cuda()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
if VARIANT != "states-unused":
    samples = []
    x = torch.randn(1024, 2048).cuda()
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(20):
            p = model(x).softmax(-1)
            samples.append(p if mistake("predictions-gathered") else p.cpu())
            del p
        spread = torch.stack(samples).std(0)
    print(spread.mean().item())
