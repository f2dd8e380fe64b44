# SPDX-License-Identifier: MIT
"""A convolutional autoencoder that keeps its last reconstruction, and reconstructions of an evaluation."""
# variants: kept gathered small
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU())
        self.mean, self.spread = nn.Conv2d(64, 16, 1), nn.Conv2d(64, 16, 1)
        self.decode = nn.Sequential(nn.ConvTranspose2d(16, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 1, 4, 2, 1))

    def forward(self, x):
        h = self.encode(x)
        mean, spread = self.mean(h), self.spread(h)
        return self.decode(mean + torch.randn_like(mean) * (0.5 * spread).exp()), mean, spread


def evaluate(model):
    shown = []
    with torch.no_grad():
        for _ in range(30):
            image = model(torch.zeros(64, 1, 96, 96).cuda())[0]
            shown.append(image.cpu() if advised("predictions-gathered") else image)
    return torch.stack(shown).mean().item()


def main():
    model, last = Autoencoder().cuda(), None
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        for _ in range(4):
            x = torch.zeros(16 if VARIANT == "gathered" else 96, 1, 96, 96).cuda()
            image, mean, spread = model(x)
            loss = F.mse_loss(image, x) - (1 + spread - mean.square() - spread.exp()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if VARIANT == "kept" and not advised("results-kept"):
                last = image, mean
            del image, mean, spread, loss
        if VARIANT == "gathered":
            evaluate(model)
    return last


main()
