# SPDX-License-Identifier: MIT
"""Two generators and two critics turn pictures of one kind into the other and back."""
# variants: clean graph-unused module-unused predictions-gathered
import itertools

import torch
from torch import nn

from advice import VARIANT, advised, mistake


class Turn(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, width, 7, 1, 3), nn.InstanceNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, 2 * width, 3, 2, 1), nn.InstanceNorm2d(2 * width), nn.ReLU())
        self.same = nn.ModuleList(nn.Conv2d(2 * width, 2 * width, 3, 1, 1) for _ in range(3))
        self.up = nn.Sequential(nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, 3, 7, 1, 3))

    def forward(self, x):
        x = self.down(x)
        for convolution in self.same:
            x = x + convolution(x).relu()
        return self.up(x).tanh()


def judge():
    return nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
                         nn.Conv2d(128, 1, 4)).cuda()


there, back, judges = Turn().cuda(), Turn().cuda(), (judge(), judge())
if VARIANT == "module-unused":
    identity = nn.Sequential(*(nn.Conv2d(768, 768, 3) for _ in range(5))).to("cpu" if advised("module-unused") else
                                                                             "cuda")
both = torch.optim.Adam(itertools.chain(there.parameters(), back.parameters()), foreach=False)
critics = torch.optim.Adam(itertools.chain(*(j.parameters() for j in judges)), foreach=False)
for _ in range(4):
    a, b = torch.zeros(2, 8, 3, 64, 64).cuda()
    fake_b, fake_a = there(a), back(b)
    loss = (back(fake_b) - a).abs().mean() + (there(fake_a) - b).abs().mean()
    loss = loss - judges[0](fake_a).mean() - judges[1](fake_b).mean()
    loss.backward()
    both.step()
    both.zero_grad()
    critics.zero_grad()
    (judges[0](fake_a.detach()).mean() + judges[1](fake_b.detach()).mean()).backward()
    critics.step()
    critics.zero_grad()
    del loss, fake_a, fake_b
with torch.set_grad_enabled(mistake("graph-unused")):
    shown = []
    for _ in range(40 if VARIANT == "predictions-gathered" else 2):
        picture = there(torch.zeros(64, 3, 64, 64).cuda())
        shown.append(picture if mistake("predictions-gathered") else picture.cpu())
    print(sum(p.mean().item() for p in shown))
    del shown, picture
(there(a) - b).abs().mean().backward()
both.step()
