# SPDX-License-Identifier: MIT
"""A one-stage detector over three scales, started from weights of a file."""
# variants: clean graph-unused weights-twice module-unused
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised, mistake

ANCHORS, CLASSES = 6, 20


def downward(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1), nn.SiLU())


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [32, 64, 128, 256, 512]
        self.backbone = nn.ModuleList(downward(a, b) for a, b in zip([3, *widths], widths))
        self.classes = nn.ModuleList(nn.Conv2d(w, ANCHORS * CLASSES, 3, 1, 1) for w in widths[2:])
        self.corners = nn.ModuleList(nn.Conv2d(w, ANCHORS * 4, 3, 1, 1) for w in widths[2:])

    def forward(self, x):
        levels = []
        for layer in self.backbone:
            x = layer(x)
            levels.append(x)
        flat = [[head(level).flatten(2) for head, level in zip(heads, levels[2:])]
                for heads in (self.classes, self.corners)]
        return torch.cat(flat[0], 2), torch.cat(flat[1], 2)


class Masks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Conv2d(512, 512, 3, 1, 1) for _ in range(8)))

    def forward(self, x):
        return self.layers(x)


def loss_of(model, rows):
    classes, corners = model(torch.zeros(rows, 3, 160, 160).cuda())
    return classes.sigmoid().mean() + F.smooth_l1_loss(corners, torch.zeros_like(corners))


def main():
    model, file = Detector(), os.path.join(tempfile.mkdtemp(), "detector.bin")
    torch.save({"weights": model.state_dict()}, file)
    if VARIANT == "module-unused" and not advised("module-unused"):
        model.masks = Masks()
    model.to("cuda")
    if VARIANT == "weights-twice":
        state = torch.load(file, map_location="cuda:0" if mistake("weights-twice") else "cpu")
        model.load_state_dict(state["weights"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=False)
    for _ in range(2):
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(model, 8).backward()
            optimizer.step()
        if VARIANT in ("clean", "graph-unused"):
            with torch.set_grad_enabled(mistake("graph-unused")):
                print([loss_of(model, 32).item() for _ in range(3)])


main()
