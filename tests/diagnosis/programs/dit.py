# SPDX-License-Identifier: MIT
"""A diffusion transformer: noise levels modulate each block; an average of the weights draws samples."""
# variants: clean graph-unused module-unused weights-twice
import copy
import pathlib
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, call, mistake

WIDTH = 256


class Modulated(nn.Module):
    def __init__(self):
        super().__init__()
        self.modulation = nn.Linear(WIDTH, 6 * WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, level):
        s1, g1, a1, s2, g2, a2 = self.modulation(level)[:, None].chunk(6, -1)
        y = F.layer_norm(x, (WIDTH,)) * (1 + g1) + s1
        x = x + a1 * self.attention(y, y, y, need_weights=False)[0]
        y = F.layer_norm(x, (WIDTH,)) * (1 + g2) + s2
        return x + a2 * self.narrow(F.gelu(self.wide(y), approximate="tanh"))


class Diffuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(64, WIDTH), nn.Linear(WIDTH, 64)
        self.level = nn.Sequential(nn.Linear(1, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.blocks = nn.ModuleList(Modulated() for _ in range(6))

    def forward(self, x, level):
        level, x = self.level(level), self.enter(x)
        for block in self.blocks:
            x = call(block, x, level)
        return self.leave(x)


class Latents(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(*(nn.Conv2d(512, 512, 3, 1, 1) for _ in range(5)))
        self.decoder = nn.Sequential(*(nn.ConvTranspose2d(512, 512, 3, 1, 1) for _ in range(5)))

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = Diffuser()
path = pathlib.Path(tempfile.mkdtemp(), "ema.pt")
torch.save(model.state_dict(), path)
average = copy.deepcopy(model).requires_grad_(VARIANT == "graph-unused").cuda()
model.cuda()
if VARIANT == "weights-twice":
    loaded = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu")
    model.load_state_dict(loaded)
if VARIANT == "module-unused":
    latents = Latents().to("cpu" if advised("module-unused") else "cuda")
optimizer = adamw(model.parameters())
for _ in range(4):
    latent, level = torch.zeros(8, 128, 64).cuda(), torch.rand(8, 1).cuda()
    loss = F.mse_loss(model(latent + level[:, None], level), latent)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.lerp_(fast, 0.01)
with torch.set_grad_enabled(mistake("graph-unused")):
    sample = torch.randn(32, 128, 64).cuda()
    for level in (1.0, 0.5):
        sample = sample.detach() - 0.1 * average(sample.detach(), torch.full((32, 1), level).cuda())
print(sample.mean().item())
