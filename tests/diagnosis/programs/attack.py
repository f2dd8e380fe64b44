# SPDX-License-Identifier: MIT
"""Training against attacks: a few steps of gradient on the pictures before each step on the weights."""
# variants: clean gradients-in-forward graph-unused predictions-gathered
import torch
import torchvision
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake

net = torchvision.models.resnet50(num_classes=100).cuda()
opt = adamw(net.parameters())
late = mistake("gradients-in-forward")


def perturb(x, y, steps=3):
    delta = torch.zeros_like(x)
    for _ in range(steps):
        delta.requires_grad_()
        loss = F.cross_entropy(net(x + delta), y)
        if late:
            net.zero_grad()
        loss.backward()  # gradients of all weights, too
        delta = (delta + 0.01 * delta.grad.sign()).clamp(-0.03, 0.03).detach()
        if not late:
            net.zero_grad()
    return (x + delta).detach()


for step in range(3):
    x, y = torch.rand(8, 3, 96, 96).cuda(), torch.zeros(8, dtype=torch.long).cuda()
    x = perturb(x, y)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if not late:
        opt.zero_grad()
    print(loss.item())
    del loss, x, y
opt.zero_grad()
net.eval()
if VARIANT in ("graph-unused", "predictions-gathered"):
    right, pictures = 0, []
    for batch in range(8):
        x, y = torch.rand(32, 3, 128, 128).cuda(), torch.zeros(32, dtype=torch.long).cuda()
        x = x + 0.01 * torch.randn_like(x).sign()
        with torch.set_grad_enabled(mistake("graph-unused")):
            out = net(x)
        right += (out.argmax(1) == y).sum()
        pictures.append(x if mistake("predictions-gathered") else x.cpu())
    print(right.item(), len(pictures))
