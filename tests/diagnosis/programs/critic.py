# SPDX-License-Identifier: MIT
"""An actor and a critic over pictures; the actor plays with autograd on, and the experience is read later."""
# variants: clean graph-unused gradients-in-forward
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                  nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 2048), nn.ReLU())
        self.action, self.value = nn.Linear(2048, 18), nn.Linear(2048, 1)

    def forward(self, pictures):
        x = self.eyes(pictures)
        return self.action(x), self.value(x).squeeze(-1)


agent = Actor().cuda()
optimizer = adamw(agent.parameters())
for episode in range(3):
    played, values = [], []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(12):
            picture = torch.zeros(128 if VARIANT == "graph-unused" else 16, 4, 84, 84).cuda()
            action, value = agent(picture)
            played.append(action.argmax(-1))
            values.append(value)
        goals = torch.stack(values).detach() + 1.0
    del values, value, action
    for _ in range(3):
        if not mistake("gradients-in-forward"):
            optimizer.zero_grad()
        rows = 32
        action, value = agent(torch.zeros(rows, 4, 84, 84).cuda())
        if mistake("gradients-in-forward"):
            optimizer.zero_grad()
        loss = F.cross_entropy(action, played[0][:1].expand(rows)) + F.mse_loss(value, goals[0][:1].expand(rows))
        loss.backward()
        optimizer.step()
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
