# SPDX-License-Identifier: MIT
"""A convolutional classifier with validation after each epoch."""
# variants: plain graph graph-amp gather gather-long frugal
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised

CLASSES = 200


def stage(inside, outside):
    convolution = nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outside), nn.ReLU())


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = stage(3, 32)
        self.body = nn.Sequential(stage(32, 64), stage(64, 128), stage(128, 256))
        self.classify = nn.Linear(256, CLASSES)

    def forward(self, images):
        return self.classify(self.body(self.stem(images)).mean((2, 3)))


def validate(model):
    has_graph = VARIANT.startswith("graph") and not advised("graph-unused")
    kept, right = [], 0
    model.eval()
    rows = 192 if VARIANT.startswith("graph") else 64
    for _ in range(40 if VARIANT == "gather-long" else 6):
        images, labels = torch.zeros(rows, 3, 96, 96).cuda(), torch.randint(CLASSES, (rows,)).cuda()
        with torch.set_grad_enabled(has_graph), torch.autocast("cuda", torch.bfloat16, enabled=VARIANT == "graph-amp"):
            scores = model(images)
            loss = F.cross_entropy(scores, labels)
        right += (scores.argmax(-1) == labels).sum().item() + loss.item()
        if VARIANT.startswith("gather"):
            maps = F.interpolate(images, scale_factor=1.5)
            kept.append(maps.cpu() if advised("predictions-gathered") else maps)
    model.train()
    return torch.cat(kept).mean() if kept else right


def main():
    model = Network().cuda()
    fused = True if advised("optimizer-burst") else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=fused)
    for _ in range(2):
        for _ in range(4):
            images, labels = torch.zeros(64, 3, 96, 96).cuda(), torch.randint(CLASSES, (64,)).cuda()
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        validate(model)


main()
