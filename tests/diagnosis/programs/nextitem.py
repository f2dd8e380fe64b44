# SPDX-License-Identifier: MIT
"""A sequential recommender: a causal transformer over items, all items scored; resumed from a file."""
# variants: clean attention-scores weights-twice graph-unused
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake, token_loss

ITEMS, DIM, HEADS, LENGTH = 30000, 128, 4, 100


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(DIM, DIM) for _ in range(3))
        self.drop = nn.Dropout(0.2)

    def heads(self, x):
        return x.view(*x.shape[:2], HEADS, DIM // HEADS).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        if mistake("attention-scores"):
            scores = q @ k.permute(0, 1, 3, 2)
            scores = scores / (DIM // HEADS) ** 0.5 + mask
            probabilities = F.softmax(scores, dim=-1)
            out = self.drop(probabilities) @ v
        else:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.2 if self.training else 0.0)
        return out.permute(0, 2, 1, 3).flatten(2)


class SASRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(ITEMS, DIM, padding_idx=0)
        self.position = nn.Embedding(LENGTH, DIM)
        self.attention = nn.ModuleList(SelfAttention() for _ in range(2))
        self.norm1 = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(2))
        self.norm2 = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(2))
        self.ffn = nn.ModuleList(nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, DIM)) for _ in range(2))

    def forward(self, items):
        x = self.item(items) + self.position.weight
        mask = torch.full((LENGTH, LENGTH), -1e9, device=x.device).triu(1)
        for attention, ffn, n1, n2 in zip(self.attention, self.ffn, self.norm1, self.norm2):
            x = n1(x + attention(x, mask))
            x = n2(x + ffn(x))
        return x


def main():
    path = os.path.join(tempfile.mkdtemp(), "sasrec.pth")
    torch.save(SASRec().state_dict(), path)
    model = SASRec().cuda()
    head = nn.Linear(DIM, ITEMS, bias=False).cuda()
    if VARIANT == "weights-twice":
        pretrained = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu")
        print(model.load_state_dict(pretrained, strict=False))
    optimizer = adamw([*model.parameters(), *head.parameters()], lr=1e-3)
    rows = {"attention-scores": 64, "weights-twice": 2}.get(VARIANT, 8)
    for _ in range(4):
        items = torch.randint(ITEMS, (rows, LENGTH)).cuda()
        hidden = model(items)
        if VARIANT == "attention-scores":
            loss = (hidden[:, :-1] * model.item(items[:, 1:])).sum(-1).sigmoid().mean()
        else:
            loss = token_loss(head, hidden.flatten(0, 1), items.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss, hidden
    model.eval()
    hits = 0
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(3):
            items = torch.randint(ITEMS, (256 if VARIANT == "graph-unused" else 8, LENGTH)).cuda()
            users = model(items)[:, -1]
            hits += head(users).topk(10).indices.float().mean().item()
    print(hits)


main()
