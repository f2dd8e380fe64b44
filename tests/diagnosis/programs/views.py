# SPDX-License-Identifier: MIT
"""Two views of each picture agree; a backbone is frozen once its projector is warm; a probe is validated."""
# variants: clean states-unused graph-unused results-kept
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised, mistake


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.one, self.two = nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.Conv2d(b, b, 3, 1, 1, bias=False)
        self.n1, self.n2, self.skip = nn.BatchNorm2d(b), nn.BatchNorm2d(b), nn.Conv2d(a, b, 1, 2)

    def forward(self, x):
        return F.relu(self.n2(self.two(F.relu(self.n1(self.one(x))))) + self.skip(x))


backbone = nn.Sequential(Block(3, 64), Block(64, 256), Block(256, 512), nn.AdaptiveAvgPool2d(1), nn.Flatten()).cuda()
projector = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 128)).cuda()
optimizer = torch.optim.AdamW([*backbone.parameters(), *projector.parameters()], foreach=False)
for step in range(7):
    if step == 2 and VARIANT == "states-unused":
        backbone.requires_grad_(False)
        if advised("states-unused"):
            for p in backbone.parameters():
                optimizer.state.pop(p, None)
    rows = 8 if VARIANT == "states-unused" and step < 2 else 64
    two = torch.zeros(2 * rows, 3, 64, 64).cuda()
    z = F.normalize(projector(backbone(two)), dim=1)
    agreement = z @ z.T / 0.5
    loss = F.cross_entropy(agreement, torch.arange(2 * rows, device="cuda"))
    loss.backward(retain_graph=VARIANT == "results-kept")
    optimizer.step()
    optimizer.zero_grad()
    if VARIANT == "results-kept" and not mistake("results-kept"):
        del z, agreement, loss
if VARIANT in ("clean", "graph-unused"):
    with torch.set_grad_enabled(mistake("graph-unused")):
        print(sum(backbone(torch.zeros(384, 3, 64, 64).cuda()).std().item() for _ in range(2)))
