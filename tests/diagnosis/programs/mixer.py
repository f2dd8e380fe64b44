# SPDX-License-Identifier: MIT
"""An MLP-Mixer whose patch layers are frozen after a warm-up; momentum by hand-written groups."""
# variants: clean states-unused gradients-in-forward optimizer-burst
import torch
from torch import nn

from advice import VARIANT, advised, mistake

PATCHES, CHANNELS = 64, 512


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Sequential(nn.Linear(PATCHES, 256), nn.GELU(), nn.Linear(256, PATCHES))
        self.channels = nn.Sequential(nn.Linear(CHANNELS, 2048), nn.GELU(), nn.Linear(2048, CHANNELS))
        self.norm1, self.norm2 = nn.LayerNorm(CHANNELS), nn.LayerNorm(CHANNELS)

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).mT).mT
        return x + self.channels(self.norm2(x))


embed = nn.Sequential(nn.Conv2d(3, CHANNELS, 8, 8), nn.Flatten(2)).cuda()
trunk = nn.Sequential(*(Mixer() for _ in range(10))).cuda()
head = nn.Linear(CHANNELS, 20).cuda()
groups = [{"params": trunk.parameters(), "lr": 1e-4}, {"params": [*embed.parameters(), *head.parameters()], "lr": 1e-3}]
optimizer = torch.optim.NAdam(groups) if VARIANT == "states-unused" else torch.optim.RMSprop(
    groups, momentum=0.9, foreach=mistake("optimizer-burst"))
for step in range(8):
    if step == 3 and VARIANT == "states-unused":
        trunk.requires_grad_(False)
        if advised("states-unused"):
            for p in trunk.parameters():
                optimizer.state.pop(p, None)
    rows = 4 if step < 3 or VARIANT != "states-unused" else 320
    images = torch.zeros(rows, 3, 64, 64).cuda()
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss = head(trunk(embed(images).mT).mean(1)).logsumexp(-1).mean()
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
