# SPDX-License-Identifier: MIT
"""A normalizing flow: coupling layers over vectors; the likelihood of a test set is printed."""
# variants: clean growth graph-unused predictions-gathered
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.LeakyReLU(0.1), nn.Linear(hidden, hidden),
                                 nn.LeakyReLU(0.1), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        x = torch.cat((b, a) if self.flip else (a, b), dim=1)
        return x, s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, dim=256, hidden=1024, depth=8):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(dim, hidden, i % 2) for i in range(depth)])

    def log_prob(self, x):
        total = 0
        for layer in self.layers:
            x, logdet = layer(x)
            total = total + logdet
        return total - 0.5 * (x ** 2).sum(1)

    def forward(self, x):
        return self.log_prob(x)


flow = RealNVP().to("cuda")
opt = adamw(flow.parameters(), lr=1e-3)
losses = []
for it in range(12):
    x = torch.randn(4096, 256, device="cuda")
    loss = -flow(x).mean()
    opt.zero_grad()
    loss.backward(retain_graph=VARIANT == "growth")
    opt.step()
    losses.append(loss if mistake("growth") else loss.item())
    del loss, x
losses.clear()
flow.eval()
if VARIANT != "growth":
    with torch.set_grad_enabled(mistake("graph-unused")):
        if VARIANT == "graph-unused":
            print("test", flow(torch.randn(16384, 256, device="cuda")).mean().item())
        seen = []
        for i in range(60 if VARIANT == "predictions-gathered" else 0):
            z = torch.randn(8192, 256, device="cuda")
            for layer in flow.layers:
                z, _ = layer(z)
            seen.append(z if mistake("predictions-gathered") else z.cpu())
        if seen:
            print(torch.stack([z.mean() for z in seen]).mean().item())
