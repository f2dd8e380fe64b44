# SPDX-License-Identifier: MIT
"""A table's columns as tokens of a transformer; folds are scored one after another."""
# variants: clean attention-scores weights-twice gradients-in-forward
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class Attend(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.query, self.rest = heads, nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        keys, values = self.rest(x).chunk(2, -1)
        q, k, v = split(self.query(x)), split(keys), split(values)
        if mistake("attention-scores"):
            scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
            y = torch.einsum("bhij,bhjd->bhid", F.softmax(scores, dim=-1), v)
        else:
            y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))


class Table(nn.Module):
    def __init__(self, columns=200, width=96):
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.zeros(columns, width)) for _ in range(2))
        self.attends = nn.ModuleList(Attend(width, 8) for _ in range(3))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
                                  for _ in range(3))
        self.categories = nn.Embedding(300000, width)
        self.target = nn.Linear(width, 1)

    def forward(self, numbers, category):
        x = torch.cat([numbers[..., None] * self.scale + self.shift, self.categories(category)[:, None]], 1)
        for attend, mlp in zip(self.attends, self.mlps):
            x = x + attend(x)
            x = x + mlp(x)
        return self.target(x.mean(1)).squeeze(-1)


model, path = Table(), os.path.join(tempfile.mkdtemp(), "fold0.pt")
torch.save(model, path)
if VARIANT == "weights-twice":
    model = Table().cuda()
    best = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu", weights_only=False)
    model.load_state_dict(best.state_dict())
model.cuda()
optimizer = adamw(model.parameters())
for fold in range(4):
    rows = 96 if VARIANT == "attention-scores" else 16
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    guess = model(torch.zeros(rows, 200).cuda(), torch.zeros(rows, dtype=torch.long).cuda())
    loss = F.huber_loss(guess, torch.zeros(rows).cuda())
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
