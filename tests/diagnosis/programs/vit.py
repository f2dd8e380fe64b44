# SPDX-License-Identifier: MIT
"""A vision transformer: patches, a class token, pre-norm blocks; validation after each epoch."""
# variants: clean graph-unused predictions-gathered attention-scores
import torch
from torch import nn
from torch.nn import functional as F

from advice import adamw, call, mistake

WIDTH, HEADS = 192, 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, n, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if mistake("attention-scores"):
            y = torch.softmax(q @ k.mT * (WIDTH // HEADS) ** -0.5, -1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.between(x))


class VisionTransformer(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.position = nn.Parameter(torch.zeros(1, 145, WIDTH))
        self.encoders = nn.ModuleList(Encoder() for _ in range(6))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        for encoder in self.encoders:
            x = call(encoder, x)
        return self.head(self.norm(x)[:, 0])


model = VisionTransformer().cuda()
optimizer = adamw(model.parameters())
for epoch in range(2):
    for _ in range(3):
        optimizer.zero_grad()
        labels = torch.zeros(32, dtype=torch.long).cuda()
        F.cross_entropy(model(torch.zeros(32, 3, 96, 96).cuda()), labels).backward()
        optimizer.step()
    model.eval()
    probabilities = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(24):
            images = torch.zeros(96, 3, 96, 96).cuda()
            scores = model(images).softmax(-1)
            kept = torch.cat([scores[:, :, None].expand(-1, -1, 100).detach()], 0)
            probabilities.append(kept if mistake("predictions-gathered") else kept.cpu())
            del scores, kept
    print(len(probabilities), probabilities[0].mean().item())
    probabilities.clear()
    model.train()
