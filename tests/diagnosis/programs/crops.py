# SPDX-License-Identifier: MIT
"""Pictures without labels: a ViT of timm sees crops and agrees with a slow copy of itself that sees the whole."""
# variants: clean graph-unused gradients-in-forward optimizer-burst
import copy

import timm
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, mistake


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = timm.create_model("vit_tiny_patch16_224", num_classes=0, dynamic_img_size=True)
        self.head = nn.Sequential(nn.Linear(192, 1024), nn.GELU(), nn.Linear(1024, 256))
        self.last = nn.Linear(256, 8192, bias=False)

    def forward(self, crops):
        return torch.cat([self.last(F.normalize(self.head(self.backbone(c)), dim=-1)) for c in crops])


student = Net().cuda()
teacher = copy.deepcopy(student)
if advised("activations-kept"):
    student.backbone.set_grad_checkpointing()
if VARIANT != "graph-unused" or not mistake("graph-unused"):
    teacher.requires_grad_(False)
has_burst = mistake("optimizer-burst") and not advised("optimizer-states-wide")
opt = torch.optim.AdamW(student.parameters()) if has_burst else adamw(student.parameters())
center = torch.zeros(1, 8192, device="cuda")
late = mistake("gradients-in-forward")
rows = 1 if VARIANT == "optimizer-burst" else 4
for step in range(3):
    whole = [torch.randn(rows, 3, 224, 224).cuda() for _ in range(2)]
    small = [torch.randn(rows, 3, 96, 96).cuda() for _ in range(4)]
    aim = teacher(whole)
    guess = student(whole + small)
    p = F.softmax((aim - center) / 0.04, -1).detach().chunk(2)
    q = F.log_softmax(guess / 0.1, -1).chunk(6)
    loss = sum(-(a * b).sum(-1).mean() for i, a in enumerate(p) for j, b in enumerate(q) if i != j) / 10
    if late:
        opt.zero_grad()
    loss.backward()
    opt.step()
    if not late:
        opt.zero_grad()
    with torch.no_grad():
        center = center * 0.9 + aim.mean(0, keepdim=True) * 0.1
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.mul_(0.99).add_(b, alpha=0.01)
    del loss, p, q, aim, guess
