# SPDX-License-Identifier: MIT
"""Which advertisement is clicked: bags of embeddings, pairs of products, two towers of layers."""
# variants: clean weights-twice gradients-in-forward states-unused
import os
import tempfile

import torch
import torch.nn as nn

from advice import VARIANT, adamw, advised, mistake

TABLES = (60000, 20000, 5000, 800)


def stack(*sizes, last=None):
    layers = nn.ModuleList()
    for a, b in zip(sizes, sizes[1:]):
        layers.append(nn.Linear(a, b))
        layers.append(nn.ReLU())
    if last is not None:
        layers[-1] = last
    return nn.Sequential(*layers)


class Clicks(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb_l = nn.ModuleList([nn.EmbeddingBag(n, dim, mode="sum") for n in TABLES])
        self.bot_l = stack(13, 512, 256, dim)
        self.top_l = stack(dim + 10, 512, 256, 1, last=nn.Sigmoid())

    def forward(self, dense, bags):
        x = self.bot_l(dense)
        y = torch.stack([x] + [table(bag) for table, bag in zip(self.emb_l, bags)], 1)
        z = torch.bmm(y, y.transpose(1, 2))
        i, j = torch.tril_indices(z.shape[1], z.shape[2], -1, device=z.device)
        return self.top_l(torch.cat([x, z[:, i, j]], 1)).squeeze(1)


def batch(rows):
    return (torch.rand(rows, 13, device="cuda"),
            [torch.randint(n, (rows, 4), device="cuda") for n in TABLES], torch.ones(rows, device="cuda"))


model = Clicks()
if VARIANT == "weights-twice":
    name = os.path.join(tempfile.mkdtemp(), "model.bin")
    torch.save(model.state_dict(), name)
    weights = torch.load(name, map_location="cuda:0" if mistake("weights-twice") else "cpu")
model.to("cuda")
if VARIANT == "weights-twice":
    model.load_state_dict(weights)
optimizer = adamw(model.parameters(), lr=0.001)
criterion = nn.BCELoss()
for i in range(8):
    if i == 3 and VARIANT == "states-unused":
        for p in model.emb_l.parameters():
            p.requires_grad = False
        if advised("states-unused"):
            for p in model.emb_l.parameters():
                del optimizer.state[p]
    rows = 2048
    if VARIANT == "gradients-in-forward":
        rows = 16384
    elif VARIANT == "states-unused" and i < 4:
        rows = 64
    dense, bags, clicked = batch(rows)
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(dense, bags), clicked)
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
