# SPDX-License-Identifier: MIT
"""Two cameras: features of both sides make a volume of costs, 3-d convolutions regularise it; depths are compared."""
# variants: clean graph-unused predictions-gathered results-kept
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, call, mistake

SHIFTS = 16


def conv3(i, o):
    return nn.Sequential(nn.Conv3d(i, o, 3, padding=1, bias=False), nn.BatchNorm3d(o), nn.ReLU(inplace=True))


class Stereo(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, c, 5, 2, 2), nn.BatchNorm2d(c), nn.ReLU(inplace=True),
                                      nn.Conv2d(c, c, 3, 2, 1), nn.BatchNorm2d(c), nn.ReLU(inplace=True))
        self.volume = nn.Sequential(*[conv3(2 * c, 2 * c) for _ in range(4)])
        self.last = nn.Conv3d(2 * c, 1, 3, padding=1)

    def forward(self, left, right):
        a, b = self.features(left), self.features(right)
        volume = a.new_zeros(a.shape[0], 2 * a.shape[1], SHIFTS, *a.shape[2:])
        for d in range(SHIFTS):
            volume[:, :a.shape[1], d, :, d:] = a[..., d:]
            volume[:, a.shape[1]:, d, :, d:] = b[..., :b.shape[-1] - d]
        for layer in self.volume:
            volume = call(layer, volume)
        cost = self.last(volume).squeeze(1)
        cost = F.interpolate(cost, scale_factor=4, mode="bilinear")
        p = F.softmax(-cost, 1)
        return (p * torch.arange(SHIFTS, device=p.device).view(1, -1, 1, 1)).sum(1)


def main():
    model = Stereo().cuda()
    opt = adamw(model.parameters())
    for epoch in range(2):
        model.train()
        for step in range(3):
            left, right = torch.rand(2, 3, 128, 256).cuda(), torch.rand(2, 3, 128, 256).cuda()
            opt.zero_grad()
            depth = model(left, right)
            error = (depth - 1).abs()
            loss = error.mean()
            loss.backward()
            opt.step()
            if not mistake("results-kept"):
                del depth, error, loss
        depth = error = loss = None
        opt.zero_grad()
        model.eval()
        kept = []
        many = VARIANT == "predictions-gathered"
        for step in range(40 if many else 3):
            left, right = torch.rand(4, 3, 128, 256).cuda(), torch.rand(4, 3, 128, 256).cuda()
            with torch.set_grad_enabled(mistake("graph-unused")):
                depth = model(left, right)
            if many:
                views = torch.cat([left, right, depth[:, None]], 1)
                kept.append(views if mistake("predictions-gathered") else views.cpu())
                del views
            else:
                kept.append((depth - 1).abs().mean().item())
            del depth
        print(len(kept))
        del kept


if __name__ == "__main__":
    main()
