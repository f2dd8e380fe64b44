# SPDX-License-Identifier: MIT
"""Poses: a stacked hourglass with skips at each scale; heat maps of a validation set are decoded."""
# variants: clean graph-unused gradients-in-forward results-kept
import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import VARIANT, adamw, mistake


class Residual(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inp)
        self.conv1 = nn.Conv2d(inp, out // 2, 1)
        self.bn2 = nn.BatchNorm2d(out // 2)
        self.conv2 = nn.Conv2d(out // 2, out // 2, 3, padding=1)
        self.bn3 = nn.BatchNorm2d(out // 2)
        self.conv3 = nn.Conv2d(out // 2, out, 1)
        self.skip = nn.Conv2d(inp, out, 1) if inp != out else nn.Identity()

    def forward(self, x):
        residual = self.skip(x)
        out = self.conv1(F.relu(self.bn1(x)))
        out = self.conv2(F.relu(self.bn2(out)))
        out = self.conv3(F.relu(self.bn3(out)))
        return out + residual


class Hourglass(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.up1 = Residual(dim, dim)
        self.low1 = Residual(dim, dim)
        self.low2 = Hourglass(depth - 1, dim) if depth > 1 else Residual(dim, dim)
        self.low3 = Residual(dim, dim)

    def forward(self, x):
        up1 = self.up1(x)
        low = F.max_pool2d(x, 2)
        low = self.low1(low)
        low = self.low2(low)
        low = self.low3(low)
        return up1 + F.interpolate(low, scale_factor=2)


class PoseNet(nn.Module):
    def __init__(self, dim=128, joints=17, stacks=2):
        super().__init__()
        self.pre = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(True), Residual(64, dim))
        self.glasses = nn.ModuleList([Hourglass(3, dim) for _ in range(stacks)])
        self.outs = nn.ModuleList([nn.Conv2d(dim, joints, 1) for _ in range(stacks)])
        self.merge = nn.ModuleList([nn.Conv2d(joints, dim, 1) for _ in range(stacks)])

    def forward(self, x):
        x = self.pre(x)
        maps = []
        for glass, out, merge in zip(self.glasses, self.outs, self.merge):
            h = glass(x)
            m = out(h)
            maps.append(m)
            x = x + h + merge(m)
        return maps


def main():
    net = PoseNet().cuda()
    opt = adamw(net.parameters(), lr=2.5e-4)
    for i in range(4):
        images = torch.zeros(8, 3, 128, 128).cuda()
        goal = torch.zeros(8, 17, 64, 64).cuda()
        if not mistake("gradients-in-forward"):
            opt.zero_grad()
        maps = net(images)
        loss = sum(F.mse_loss(m, goal) for m in maps)
        if mistake("gradients-in-forward"):
            opt.zero_grad()
        loss.backward(retain_graph=VARIANT == "results-kept")
        opt.step()
        if not mistake("results-kept"):
            del maps, loss
    if VARIANT == "results-kept":
        return
    net.eval()
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(2):
            maps = net(torch.zeros(24 if VARIANT == "graph-unused" else 8, 3, 128, 128).cuda())
            print(maps[-1].flatten(2).argmax(-1).float().mean().item())


main()
