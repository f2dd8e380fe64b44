# SPDX-License-Identifier: MIT
"""Gestures in films: convolutions in space and time with sums beside them, clips of a test film are scored."""
# variants: clean graph-unused predictions-gathered
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class Factor(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.space = nn.Conv3d(a, b, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False)
        self.time = nn.Conv3d(b, b, (3, 1, 1), 1, (1, 0, 0), bias=False)
        self.bn1, self.bn2 = nn.BatchNorm3d(b), nn.BatchNorm3d(b)
        self.side = nn.Conv3d(a, b, 1, (1, stride, stride)) if stride > 1 or a != b else nn.Identity()

    def forward(self, film):
        y = self.bn1(self.space(film)).relu_()
        y = self.bn2(self.time(y))
        return (y + self.side(film)).relu_()


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Factor(3, 48), Factor(48, 96, 2), Factor(96, 96), Factor(96, 192, 2))
        self.fc = nn.Linear(192, 27)

    def forward(self, film):
        return self.fc(self.layers(film).mean((2, 3, 4)))


net = Gestures().cuda()
optimizer = adamw(net.parameters(), lr=1e-3)
loss_of = nn.CrossEntropyLoss()
for _ in range(4):
    film, what = torch.zeros(4, 3, 12, 56, 56, device="cuda"), torch.zeros(4, dtype=torch.int64, device="cuda")
    loss_of(net(film), what).backward()
    optimizer.step()
    optimizer.zero_grad()
if VARIANT != "clean":
    net.eval()
    maps = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for i in range(30):
            clip = torch.zeros(4 if VARIANT == "predictions-gathered" else 12, 3, 12, 56, 56, device="cuda")
            seen = net.layers(clip)
            print(net.fc(seen.mean((2, 3, 4))).argmax(-1).sum().item())
            if VARIANT == "predictions-gathered":
                maps.append(seen if mistake("predictions-gathered") else seen.cpu())
            del seen, clip
    print(len(maps))
