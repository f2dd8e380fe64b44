# SPDX-License-Identifier: MIT
"""Distillation: the teacher's forward runs with autograd on."""
# variants: recorded quiet
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised


def tower(width, depth):
    layers = [nn.Linear(784, width), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 100))


teacher, student = tower(2048, 6).cuda().eval(), tower(256, 2).cuda()
optimizer = adamw(student.parameters())
for _ in range(4):
    x = torch.zeros(4096, 784).cuda()
    with torch.set_grad_enabled(VARIANT == "recorded" and not advised("graph-unused")):
        goal = teacher(x)
    loss = F.kl_div(student(x).log_softmax(-1), goal.detach().softmax(-1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
