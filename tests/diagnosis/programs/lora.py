# SPDX-License-Identifier: MIT
"""Low-rank updates of a frozen encoder for pairs of sentences, in half precision by autocast; two tasks in turn."""
# variants: clean frozen-weights-wide growth
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x)) * 2


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = LoRALinear(nn.Linear(dim, 3 * dim))
        self.o = LoRALinear(nn.Linear(dim, dim))
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        for m in (self.fc1, self.fc2, self.ln1, self.ln2):
            m.requires_grad_(False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, n, 3, 8, d // 8).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class Pairs(nn.Module):
    def __init__(self, dim=768, depth=6):
        super().__init__()
        self.embed = nn.Embedding(5000, dim).requires_grad_(False)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.score = nn.Linear(dim, 2)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.score(x[:, 0])


model = Pairs()
if not mistake("frozen-weights-wide"):
    for p in model.parameters():
        if not p.requires_grad:
            p.data = p.data.bfloat16()
model.cuda()
optimizer = adamw([p for p in model.parameters() if p.requires_grad], lr=1e-4)
losses = []
for step in range(8 if VARIANT == "growth" else 4):
    ids = torch.randint(5000, (4, 64)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(ids), torch.zeros(4, dtype=torch.long).cuda())
    loss.backward(retain_graph=VARIANT == "growth")
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss if mistake("growth") else loss.detach())
    del loss
print(torch.stack([l.detach() for l in losses]).mean().item())
