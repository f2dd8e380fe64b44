# SPDX-License-Identifier: MIT
"""A masked autoencoder of pictures; its encoder alone is then asked for features."""
# variants: clean attention-scores graph-unused module-unused predictions-gathered
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, mistake

PATCH, KEEP = 8, 36


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if mistake("attention-scores"):
            attn = (q * self.scale) @ k.transpose(-2, -1)
            x = attn.softmax(dim=-1) @ v
        else:
            x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Hidden(nn.Module):
    def __init__(self, dim=256, small=128, patches=144):
        super().__init__()
        self.embed = nn.Linear(3 * PATCH * PATCH, dim)
        self.pos = nn.Parameter(torch.zeros(1, patches, dim))
        self.encoder = nn.Sequential(*[Layer(dim, 8) for _ in range(4)])
        self.bridge = nn.Linear(dim, small)
        self.token = nn.Parameter(torch.zeros(1, 1, small))
        self.decoder = nn.Sequential(*[Layer(small, 4) for _ in range(2)])
        self.pixels = nn.Linear(small, 3 * PATCH * PATCH)

    def encode(self, patches):
        return self.encoder(self.embed(patches) + self.pos)

    def forward(self, patches):
        x = self.embed(patches) + self.pos
        x = self.encoder(x[:, :KEEP] if VARIANT != "attention-scores" else x)
        x = self.bridge(x)
        rest = patches.shape[1] - x.shape[1]
        x = torch.cat([x, self.token.expand(len(x), rest, -1)], 1)
        return self.pixels(self.decoder(x))


mae = Hidden().cuda()
if VARIANT == "module-unused":
    critic = nn.Sequential(*[Layer(384, 6) for _ in range(4)])
    if not advised("module-unused"):
        critic = critic.cuda()
optimizer = adamw(mae.parameters(), lr=1.5e-4)
for it in range(4):
    pictures = torch.zeros(8 if VARIANT == "module-unused" else 24, 144, 3 * PATCH * PATCH).cuda()
    loss = ((mae(pictures) - pictures) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
del loss, pictures
if VARIANT in ("graph-unused", "predictions-gathered"):
    mae.eval()
    bank = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for i in range(40):
            seen = mae.encode(torch.zeros(48, 144, 3 * PATCH * PATCH).cuda())
            bank.append(seen if mistake("predictions-gathered") else seen.detach().cpu())
            del seen
    print(torch.cat(bank).shape)
