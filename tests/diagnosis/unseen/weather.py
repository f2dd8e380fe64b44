# SPDX-License-Identifier: MIT
"""Weather by layers that multiply in frequencies; a forecast is rolled out over days."""
# variants: clean graph-unused growth module-unused
import torch
from torch import nn

from advice import VARIANT, adamw, advised, mistake


class Spectral(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, modes, 2) / width)

    def forward(self, x):
        f = torch.fft.rfft2(x)
        w = torch.view_as_complex(self.weight)
        out = torch.zeros_like(f)
        m = self.modes
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, :m, :m], w)
        return torch.fft.irfft2(out, s=x.shape[-2:])


class Weather(nn.Module):
    def __init__(self, channels=8, width=32, modes=12):
        super().__init__()
        self.lift, self.drop = nn.Conv2d(channels, width, 1), nn.Conv2d(width, channels, 1)
        self.spectral = nn.ModuleList([Spectral(width, modes) for _ in range(4)])
        self.skip = nn.ModuleList([nn.Conv2d(width, width, 1) for _ in range(4)])

    def forward(self, x):
        x = self.lift(x)
        for s, c in zip(self.spectral, self.skip):
            x = nn.functional.gelu(s(x) + c(x))
        return self.drop(x)


model = Weather().cuda()
if VARIANT == "module-unused":
    older = nn.ModuleList([Weather(width=64, modes=16) for _ in range(2)])
    older = older if advised("module-unused") else older.cuda()
optimizer = adamw(model.parameters(), lr=1e-3)
log = []
for day in range(6):
    now = torch.rand(2 if VARIANT == "module-unused" else 8, 8, 64, 128).cuda()
    loss = (model(now) - now.roll(1, -1)).abs().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=VARIANT == "growth")
    optimizer.step()
    log.append(loss if mistake("growth") else loss.item())
    del loss, now
if VARIANT == "graph-unused":
    state = torch.rand(4, 8, 64, 128).cuda()
    with torch.set_grad_enabled(mistake("graph-unused")):
        for hour in range(12):
            state = model(state)
            print(state.abs().max().item())
