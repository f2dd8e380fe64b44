# SPDX-License-Identifier: MIT
"""Experts by hand, with a router."""
# variants: sparse dense
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, call


class Experts(nn.Module):
    def __init__(self, width=384, count=6):
        super().__init__()
        self.route = nn.Linear(width, count)
        self.inner = nn.Parameter(torch.zeros(count, width, 2 * width))
        self.outer = nn.Parameter(torch.zeros(count, 2 * width, width))

    def forward(self, x):
        share = self.route(x).softmax(-1)
        if VARIANT == "dense":
            hidden = F.silu(torch.einsum("bnd,edh->bneh", x, self.inner))
            return x + torch.einsum("bneh,ehd,bne->bnd", hidden, self.outer, share)
        out = torch.zeros_like(x)
        for e in range(self.inner.shape[0]):
            out = out + share[..., e:e + 1] * (F.silu(x @ self.inner[e]) @ self.outer[e])
        return x + out


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Experts() for _ in range(5))
        self.out = nn.Linear(384, 16)

    def forward(self, x):
        for layer in self.layers:
            x = call(layer, x)
        return self.out(x)


model = Mixture().cuda()
optimizer = adamw(model.parameters())
for _ in range(3):
    loss = model(torch.zeros(16, 128, 384).cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
