# SPDX-License-Identifier: MIT
"""A recommender: tables of embeddings, a tower over dense features, crossed by dot products."""
# variants: clean weights-twice gradients-in-forward predictions-gathered
import pathlib
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake

TABLES, ROWS, WIDTH = 8, 40000, 64


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(TABLES))
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, WIDTH))
        self.top = nn.Sequential(nn.Linear(WIDTH + TABLES * (TABLES + 1) // 2, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = torch.stack([x, *(table(ids) for table, ids in zip(self.tables, sparse))], 1)
        crossed = torch.bmm(rows, rows.mT)
        above, beside = torch.triu_indices(TABLES + 1, TABLES + 1, 1, device=x.device)
        return self.top(torch.cat([x, crossed[:, above, beside]], 1)).squeeze(1)


def batch(rows):
    return torch.zeros(rows, 13).cuda(), torch.zeros(TABLES, rows, 20, dtype=torch.long).cuda()


model = Ranker()
path = pathlib.Path(tempfile.mkdtemp()) / "model.pth"
torch.save(model.state_dict(), path)
model.cuda()
if VARIANT == "weights-twice":
    weights = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu")
    model.load_state_dict(weights)
optimizer = adamw(model.parameters())
for epoch in range(2):
    for _ in range(4):
        dense, sparse = batch(2048)
        if not mistake("gradients-in-forward"):
            optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(dense, sparse), torch.zeros(2048).cuda())
        if mistake("gradients-in-forward"):
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if VARIANT == "predictions-gathered":
        optimizer.zero_grad()
        seen = []
        with torch.no_grad():
            for _ in range(24):
                dense, sparse = batch(16384)
                scores = model(dense, sparse)
                features = torch.cat([dense, scores[:, None]], 1).repeat(1, 24)
                seen.append(features if mistake("predictions-gathered") else features.cpu())
        print(torch.stack(seen).std().item())
        del seen, features
