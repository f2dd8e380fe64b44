# SPDX-License-Identifier: MIT
"""A generator and a critic; samples are drawn for a human eye after each epoch."""
# variants: samples-graph samples keep
import torch
from torch import nn

from advice import VARIANT, advised


def up(inside, outside):
    return nn.Sequential(nn.ConvTranspose2d(inside, outside, 4, 2, 1), nn.BatchNorm2d(outside), nn.ReLU())


generator = nn.Sequential(nn.ConvTranspose2d(64, 256, 4), up(256, 128), up(128, 64), up(64, 32),
                          nn.Conv2d(32, 3, 3, 1, 1)).cuda()
critic = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
                       nn.Flatten(), nn.Linear(128 * 64, 1)).cuda()
optimizers = [torch.optim.Adam(m.parameters(), betas=(0.5, 0.999)) for m in (generator, critic)]
gallery = []
for epoch in range(3):
    for _ in range(3):
        noise = torch.randn(64, 64, 1, 1).cuda()
        real = torch.zeros(64, 3, 32, 32).cuda()
        fake = generator(noise)
        optimizers[1].zero_grad()
        (critic(fake.detach()).mean() - critic(real).mean()).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(fake).mean()).backward()
        optimizers[0].step()
    with torch.set_grad_enabled(VARIANT != "samples" and not advised("graph-unused")):
        images = generator(torch.randn(512, 64, 1, 1).cuda())
    if VARIANT == "keep":
        gallery.append(images.detach().cpu() if advised("growth") else images)
    else:
        print(images.mean().item())
    del images
