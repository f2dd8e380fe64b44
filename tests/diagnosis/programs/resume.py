# SPDX-License-Identifier: MIT
"""Training that resumes from a checkpoint."""
# variants: kept kept-all dropped
import os
import tempfile

import torch
from torch import nn

from advice import VARIANT, adamw, advised


def make():
    return nn.Sequential(nn.Embedding(20000, 256), nn.Linear(256, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh(),
                         nn.Linear(2048, 10))


def save(path):
    model = make()
    optimizer = torch.optim.AdamW(model.parameters())
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)


def main():
    path = os.path.join(tempfile.mkdtemp(), "last.pt")
    save(path)
    model = make().cuda()
    optimizer = adamw(model.parameters())
    checkpoint = torch.load(path, map_location="cpu" if advised("weights-twice") else "cuda")
    model.load_state_dict(checkpoint["model"])
    if VARIANT == "kept-all":
        optimizer.load_state_dict(checkpoint["optimizer"])
    first = checkpoint["epoch"]
    if VARIANT == "dropped":
        del checkpoint
    for _ in range(first, first + 3):
        loss = model(torch.randint(20000, (128, 32)).cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
