# SPDX-License-Identifier: MIT
"""Fine-tuning: the backbone is trained first and frozen then; an unused encoder lies beside it."""
# variants: frozen unused both none
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised

WIDTH = 768


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 12, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 3072), nn.ReLU(), nn.Linear(3072, WIDTH))

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.feed(self.norm(x))


class Encoder(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Encoder(4), nn.Linear(WIDTH, 100)
        if VARIANT in ("unused", "both"):
            self.text = Encoder(3)

    def forward(self, x):
        return self.head(self.backbone(x).mean(1))


def main():
    model = Captioner()
    text = model.text if advised("module-unused") else None
    if text:
        del model.text
    model.cuda()
    optimizer = adamw(model.parameters())
    for step in range(6):
        if step == 2 and VARIANT in ("frozen", "both"):
            model.backbone.requires_grad_(False)
            if advised("states-unused"):
                for p in model.backbone.parameters():
                    optimizer.state.pop(p, None)
        rows = 2 if step < 2 else 192
        if advised("gradients-in-forward"):
            optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.zeros(rows, 64, WIDTH).cuda()), torch.zeros(rows, dtype=torch.long).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
