# SPDX-License-Identifier: MIT
"""Segmentation with dilated convolutions and scores at every pixel; masks of the validation set are compared."""
# variants: clean graph-unused predictions-gathered results-kept
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, mistake


class Pyramid(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.branches = nn.ModuleList(nn.Conv2d(inside, outside, 3, padding=d, dilation=d) for d in (1, 2, 4))
        self.join = nn.Conv2d(3 * outside, outside, 1)

    def forward(self, x):
        return F.relu(self.join(torch.cat([branch(x) for branch in self.branches], 1)))


class Segmenter(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1),
                                  nn.BatchNorm2d(64), nn.ReLU())
        self.pyramid = nn.Sequential(Pyramid(64, 96), Pyramid(96, 96))
        self.scores = nn.Conv2d(96, classes, 1)

    def forward(self, images):
        small = self.scores(self.pyramid(self.stem(images)))
        return F.interpolate(small, images.shape[2:], mode="bilinear")


def images(rows):
    return torch.zeros(rows, 3, 128, 128).cuda(), torch.zeros(rows, 128, 128, dtype=torch.long).cuda()


def train(model, optimizer):
    for _ in range(4):
        x, y = images(16)
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if not mistake("results-kept"):
            del scores, loss


@torch.no_grad()
def measure(model):
    found = []
    for _ in range(20):
        x, _ = images(32)
        soft = model(x).softmax(1)
        found.append(soft if mistake("predictions-gathered") else soft.cpu())
    return sum(soft.mean().item() for soft in found)


def losses(model):
    with torch.set_grad_enabled(mistake("graph-unused")):
        return sum(F.cross_entropy(model(x), y).item() for x, y in (images(64) for _ in range(3)))


model = Segmenter().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
for _ in range(2):
    train(model, optimizer)
    model.eval()
    if VARIANT != "results-kept":
        print(losses(model) if VARIANT == "graph-unused" else measure(model))
    model.train()
