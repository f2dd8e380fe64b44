# SPDX-License-Identifier: MIT
"""Super-resolution: residual convolutions and a pixel shuffle; PSNR of a validation set after each epoch."""
# variants: clean predictions-gathered graph-unused results-kept
import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import VARIANT, mistake


class ResBlock(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1 = nn.Conv2d(n, n, 3, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(n, n, 3, padding=1)

    def forward(self, x):
        out = self.conv1(x)
        out = self.act(out)
        out = self.conv2(out)
        return x + 0.1 * out


class EDSR(nn.Module):
    def __init__(self, n=64, blocks=8):
        super().__init__()
        self.head = nn.Conv2d(3, n, 3, padding=1)
        self.body = nn.Sequential(*[ResBlock(n) for _ in range(blocks)])
        self.up = nn.Sequential(nn.Conv2d(n, 4 * n, 3, padding=1), nn.PixelShuffle(2))
        self.tail = nn.Conv2d(n, 3, 3, padding=1)

    def forward(self, x):
        x = self.head(x)
        res = self.body(x)
        res = res + x
        return self.tail(self.up(res))


def train_epoch(net, optimizer):
    net.train()
    for _ in range(3):
        low = torch.zeros(16, 3, 48, 48).cuda()
        high = torch.zeros(16, 3, 96, 96).cuda()
        out = net(low)
        loss = F.l1_loss(out, high)
        optimizer.zero_grad()
        loss.backward(retain_graph=VARIANT == "results-kept")
        optimizer.step()
        if not mistake("results-kept"):
            del out, loss


def validate(net):
    net.eval()
    outputs, targets = [], []
    big = VARIANT == "predictions-gathered"
    for _ in range(40 if big else 2):
        low = torch.zeros(8, 3, 128, 128).cuda()
        out = net(low).clamp(0, 1)
        outputs.append(out if mistake("predictions-gathered") else out.cpu())
        targets.append(torch.zeros(8, 3, 256, 256))
    mse = sum(F.mse_loss(o.cpu(), t).item() for o, t in zip(outputs, targets))
    print("psnr of", mse)


net = EDSR().cuda()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
for epoch in range(2):
    train_epoch(net, optimizer)
    if VARIANT != "results-kept":
        with torch.set_grad_enabled(mistake("graph-unused")):
            validate(net)
