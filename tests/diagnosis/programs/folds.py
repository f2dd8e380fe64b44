# SPDX-License-Identifier: MIT
"""Pairs of residues: triangle products and attention along rows over a square of features; distances are predicted."""
# variants: clean attention-scores graph-unused
import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import VARIANT, adamw, call, mistake

C = 64


class Triangle(nn.Module):
    def __init__(self, outgoing):
        super().__init__()
        self.outgoing = outgoing
        self.norm, self.norm_out = nn.LayerNorm(C), nn.LayerNorm(C)
        self.a, self.b = nn.Linear(C, C), nn.Linear(C, C)
        self.ga, self.gb, self.g = nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, C)
        self.out = nn.Linear(C, C)

    def forward(self, z):
        z = self.norm(z)
        a, b = self.a(z) * torch.sigmoid(self.ga(z)), self.b(z) * torch.sigmoid(self.gb(z))
        x = torch.einsum("bikc,bjkc->bijc" if self.outgoing else "bkic,bkjc->bijc", a, b)
        return torch.sigmoid(self.g(z)) * self.out(self.norm_out(x))


class RowAttention(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(C)
        self.qkv = nn.Linear(C, 3 * C, bias=False)
        self.out = nn.Linear(C, C)

    def forward(self, z):
        b, n, m, _ = z.shape
        qkv = self.qkv(self.norm(z)).view(b, n, m, 3, self.heads, -1)
        q, k, v = (t.transpose(2, 3) for t in qkv.unbind(3))
        if mistake("attention-scores"):
            w = torch.softmax(torch.einsum("bnhqd,bnhkd->bnhqk", q, k) / q.shape[-1] ** 0.5, -1)
            o = torch.einsum("bnhqk,bnhkd->bnhqd", w, v)
        else:
            o = F.scaled_dot_product_attention(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)).view_as(q)
        return self.out(o.transpose(2, 3).reshape(b, n, m, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.inc, self.row = Triangle(True), Triangle(False), RowAttention()
        self.transition = nn.Sequential(nn.LayerNorm(C), nn.Linear(C, 2 * C), nn.ReLU(), nn.Linear(2 * C, C))

    def forward(self, z):
        z = z + self.out(z)
        z = z + self.inc(z)
        z = z + self.row(z)
        return z + self.transition(z)


class Folds(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Embedding(21, C), nn.Embedding(21, C)
        self.trunk = nn.ModuleList([Block() for _ in range(4)])
        self.bins = nn.Linear(C, 38)

    def forward(self, residues):
        z = self.left(residues)[:, :, None] + self.right(residues)[:, None]
        for block in self.trunk:
            z = call(block, z)
        return self.bins(z + z.transpose(1, 2))


model = Folds().cuda()
opt = adamw(model.parameters())
for step in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(model(torch.randint(21, (1, 96)).cuda()).flatten(0, 2),
                           torch.zeros(96 * 96, dtype=torch.long).cuda())
    loss.backward()
    opt.step()
    print(loss.item())
    del loss
opt.zero_grad()
model.eval()
if VARIANT == "graph-unused":
    for step in range(2):
        with torch.set_grad_enabled(mistake("graph-unused")):
            bins = model(torch.randint(21, (1, 160)).cuda()).argmax(-1)
        print(bins.shape)
