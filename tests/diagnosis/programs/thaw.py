# SPDX-License-Identifier: MIT
"""A pretrained trunk is read from a file, trained with momentum, and frozen halfway."""
# variants: file freeze both
import os
import tempfile

import torch
from torch import nn

from advice import VARIANT, advised


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(1200, 1200), nn.ReLU()) for _ in range(8)))
        self.top = nn.Linear(1200, 50)

    def forward(self, x):
        return self.top(self.body(x))


def main():
    path = os.path.join(tempfile.mkdtemp(), "trunk.ckpt")
    torch.save({"state_dict": Trunk().state_dict(), "step": 10}, path)
    model = Trunk().cuda()
    if VARIANT != "freeze":
        saved = torch.load(path, map_location="cpu" if advised("weights-twice") else "cuda:0")
        model.load_state_dict(saved["state_dict"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
    for step in range(10):
        if step == 3 and VARIANT != "file":
            for p in model.body.parameters():
                p.requires_grad_(False)
                if advised("states-unused"):
                    optimizer.state.pop(p, None)
        model(torch.zeros(64 if step < 3 else 16384, 1200).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


main()
