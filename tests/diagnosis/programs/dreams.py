# SPDX-License-Identifier: MIT
"""A world model: recurrent latent states over sequences of pictures; an episode is played with its state carried on."""
# variants: clean graph-unused gradients-in-forward
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class World(nn.Module):
    def __init__(self, latent=512, actions=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2), nn.ELU(), nn.Conv2d(32, 64, 4, 2), nn.ELU(),
                                 nn.Conv2d(64, 128, 4, 2), nn.ELU(), nn.Flatten(), nn.Linear(128 * 36, 512))
        self.cell = nn.GRUCell(512 + actions, latent)
        self.prior = nn.Linear(latent, 64)
        self.dec = nn.Sequential(nn.Linear(latent, 128 * 16), nn.Unflatten(1, (128, 4, 4)),
                                 nn.ConvTranspose2d(128, 64, 4, 4), nn.ELU(), nn.ConvTranspose2d(64, 3, 4, 4))
        self.reward = nn.Linear(latent, 1)

    def forward(self, frame, action, h):
        e = self.enc(frame)
        h = self.cell(torch.cat([e, action], -1), h)
        return h, self.dec(h), self.reward(h)


world = World().cuda()
optimizer = adamw(world.parameters(), lr=6e-4)
for update in range(3):
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    h = torch.zeros(16, 512).cuda()
    loss = 0
    for t in range(8):
        frame = torch.zeros(16, 3, 64, 64).cuda()
        h, picture, reward = world(frame, torch.zeros(16, 6).cuda(), h)
        loss = loss + F.mse_loss(picture, frame) + reward.square().mean()
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(world.parameters(), 100.0)
    optimizer.step()
    del loss, h, picture, reward, frame
optimizer.zero_grad()
if VARIANT in ("clean", "graph-unused"):
    # playing: the state is carried from frame to frame
    h = torch.zeros(16, 512).cuda()
    for t in range(30):
        with torch.set_grad_enabled(mistake("graph-unused")):
            h, picture, reward = world(torch.zeros(16, 3, 64, 64).cuda(), torch.zeros(16, 6).cuda(), h)
        print(t, reward.mean().item())
