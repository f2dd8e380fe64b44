# SPDX-License-Identifier: MIT
"""Embeddings of facts (subject, relation, object): each object is scored against all; ranks of a test set."""
# variants: clean optimizer-burst logits-kept-whole predictions-gathered
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from advice import CHUNKS, VARIANT, adamw, advised, mistake

ENTITIES, RELATIONS, DIM = 40000, 200, 200


class DistMult(nn.Module):
    def __init__(self):
        super().__init__()
        self.entity = nn.Embedding(ENTITIES, DIM)
        self.relation = nn.Embedding(RELATIONS, DIM)

    def forward(self, s, r):
        return (self.entity(s) * self.relation(r)) @ self.entity.weight.T


def loss_of(model, s, r, o):
    return F.cross_entropy(model(s, r), o, reduction="sum")


model = DistMult().cuda()
has_burst = mistake("optimizer-burst") and not advised("optimizer-states-wide")
opt = torch.optim.Adam(model.parameters()) if has_burst else adamw(model.parameters())
rows = 16 if VARIANT == "optimizer-burst" else 512
for epoch in range(2):
    for _ in range(3):
        s, r, o = (torch.randint(high, (rows,)).cuda() for high in (ENTITIES, RELATIONS, ENTITIES))
        opt.zero_grad()
        if VARIANT == "logits-kept-whole" and mistake("logits-kept-whole"):
            loss = loss_of(model, s, r, o)
        else:
            loss = 0
            for part in zip(s.chunk(CHUNKS), r.chunk(CHUNKS), o.chunk(CHUNKS)):
                loss = loss + checkpoint(loss_of, model, *part, use_reentrant=False)
        (loss / rows).backward()
        opt.step()
        print(loss.item())
        del loss
    opt.zero_grad()
    scores, ranks = [], []
    with torch.no_grad():
        for _ in range(6):
            s, r, o = (torch.randint(high, (256,)).cuda() for high in (ENTITIES, RELATIONS, ENTITIES))
            score = model(s, r)
            if mistake("predictions-gathered"):
                scores.append(score)
            else:
                ranks.append((score > score.gather(1, o[:, None])).sum(1).cpu())
            del score
    if scores:
        ranks = (torch.cat(scores) > 0).sum(1).cpu()
    print(len(ranks))
    del scores
