# SPDX-License-Identifier: MIT
"""Spoken commands: depthwise convolutions over spectra; accuracy over a test set, one confusion after another."""
# variants: clean graph-unused growth predictions-gathered
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


def separable(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, a, 3, stride, 1, groups=a, bias=False), nn.BatchNorm2d(a), nn.ReLU6(True),
                         nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU6(True))


class Commands(nn.Module):
    def __init__(self, words=35, width=96):
        super().__init__()
        self.stem = nn.Conv2d(1, width, (10, 4), 2, (4, 1))
        self.body = nn.Sequential(*[separable(width, width) for _ in range(4)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.answer = nn.Linear(width, words)

    def features(self, spectra):
        return self.body(torch.relu(self.stem(spectra)))

    def forward(self, spectra):
        return self.answer(self.pool(self.features(spectra)).flatten(1))


net = Commands().cuda()
optimizer = adamw(net.parameters(), lr=1e-3)
total, losses = 0.0, []
for epoch in range(2):
    net.train()
    for _ in range(6):
        sound = torch.zeros(32, 1, 98, 40).cuda()
        loss = nn.functional.cross_entropy(net(sound), torch.zeros(32, dtype=torch.long).cuda())
        optimizer.zero_grad()
        loss.backward(retain_graph=VARIANT == "growth")
        optimizer.step()
        losses.append(loss if mistake("growth") else loss.detach())
        del loss
    if VARIANT == "growth":
        continue
    net.eval()
    maps = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(12):
            found = net.features(torch.zeros(48, 1, 98, 40).cuda())
            total += net.answer(net.pool(found).flatten(1)).argmax(-1).sum().item()
            if VARIANT == "predictions-gathered":
                maps.append(found if mistake("predictions-gathered") else found.cpu())
            del found
    print(len(maps))
    del maps
print(total, torch.stack(losses[-2:]).mean().item())
