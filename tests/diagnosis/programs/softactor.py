# SPDX-License-Identifier: MIT
"""Soft actor-critic: two critics and their slow copies, a replay memory on the device, metrics of each update."""
# variants: clean growth module-unused
import copy

import torch
from torch import nn

from advice import VARIANT, advised, mistake

STATE, ACTION = 376, 17


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = mlp(STATE, 1024, 1024)
        self.mu, self.log_std = nn.Linear(1024, ACTION), nn.Linear(1024, ACTION)

    def forward(self, s):
        h = self.trunk(s).relu()
        mu, std = self.mu(h), self.log_std(h).clamp(-5, 2).exp()
        u = mu + std * torch.randn_like(mu)
        a = torch.tanh(u)
        logp = (-0.5 * ((u - mu) / std) ** 2 - std.log() - torch.log(1 - a ** 2 + 1e-6)).sum(-1, keepdim=True)
        return a, logp


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = mlp(STATE + ACTION, 1024, 1024, 1)
        self.q2 = mlp(STATE + ACTION, 1024, 1024, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x), self.q2(x)


actor, critic = Actor().cuda(), Critic().cuda()
target = copy.deepcopy(critic).requires_grad_(False)
if VARIANT == "module-unused":
    dynamics = mlp(STATE + ACTION, 2048, 2048, 2048, STATE)
    dynamics = dynamics if advised("module-unused") else dynamics.cuda()
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-4)
memory = {"s": torch.zeros(20000, STATE, device="cuda"), "a": torch.zeros(20000, ACTION, device="cuda"),
          "r": torch.zeros(20000, 1, device="cuda")}
log = {"actor": [], "critic": []}
for update in range(10):
    index = torch.randint(20000, (1024,), device="cuda")
    s, a, r = (memory[k][index] for k in ("s", "a", "r"))
    with torch.no_grad():
        a2, logp2 = actor(s)
        q = torch.min(*target(s, a2)) - 0.2 * logp2
        y = r + 0.99 * q
    q1, q2 = critic(s, a)
    critic_loss = ((q1 - y) ** 2).mean() + ((q2 - y) ** 2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    new_a, logp = actor(s)
    q1_pi, q2_pi = critic(s, new_a)
    advantage = 0.2 * logp - torch.min(q1_pi, q2_pi)
    actor_loss = advantage.mean()
    actor_opt.zero_grad()
    actor_loss.backward(retain_graph=VARIANT == "growth")
    actor_opt.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), critic.parameters()):
            slow.mul_(0.995).add_(fast, alpha=0.005)
    log["critic"].append(critic_loss.item())
    log["actor"].append(actor_loss if mistake("growth") else actor_loss.item())
    del actor_loss, advantage, new_a, logp, q1_pi, q2_pi, critic_loss, q1, q2
print(len(log["actor"]))
