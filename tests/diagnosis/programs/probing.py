# SPDX-License-Identifier: MIT
"""A linear probe on features of a frozen encoder: they are gathered on purpose, and trained on."""
# variants: clean graph-unused frozen
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class Stem(nn.Module):
    def __init__(self, widths=(3, 48, 96, 192)):
        super().__init__()
        self.stages = nn.ModuleList()
        for a, b in zip(widths, widths[1:]):
            self.stages.append(nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.GELU(),
                                             nn.Conv2d(b, b, 3, 1, 1), nn.GroupNorm(8, b), nn.GELU()))

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x.flatten(1)


encoder = Stem().cuda().eval()
if VARIANT == "frozen":
    encoder.requires_grad_(False)
features, labels = [], []
with torch.set_grad_enabled(mistake("graph-unused")):
    for _ in range(12):
        f = encoder(torch.zeros(64, 3, 64, 64).cuda())
        features.append(f.detach() if VARIANT == "clean" else f.detach().clone())
        labels.append(torch.zeros(64, dtype=torch.long).cuda())
        del f
features, labels = torch.cat(features), torch.cat(labels)
probe = nn.Linear(features.shape[1], 200).cuda()
optimizer = adamw(probe.parameters(), lr=0.1)
for epoch in range(3):
    for i in range(0, len(features), 256):
        loss = nn.functional.cross_entropy(probe(features[i:i + 256]), labels[i:i + 256])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(probe.weight.abs().mean().item())
