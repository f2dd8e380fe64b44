# SPDX-License-Identifier: MIT
"""Proximal policy optimisation of a walker that sees pictures: rollouts, then epochs over them in minibatches."""
# variants: clean graph-unused growth results-kept
import torch
import torch.nn as nn
from torch.distributions import Categorical

from advice import VARIANT, mistake


def layer(module, gain=2 ** 0.5):
    nn.init.orthogonal_(module.weight, gain)
    nn.init.constant_(module.bias, 0.0)
    return module


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(layer(nn.Conv2d(4, 32, 8, 4)), nn.ReLU(), layer(nn.Conv2d(32, 64, 4, 2)),
                                     nn.ReLU(), layer(nn.Conv2d(64, 64, 3)), nn.ReLU(), nn.Flatten(),
                                     layer(nn.Linear(3136, 512)), nn.ReLU())
        self.actor, self.critic = layer(nn.Linear(512, 18), 0.01), layer(nn.Linear(512, 1), 1)

    def act(self, x, action=None):
        h = self.network(x / 255.0)
        d = Categorical(logits=self.actor(h), validate_args=False)
        action = d.sample() if action is None else action
        return action, d.log_prob(action), d.entropy(), self.critic(h).squeeze(-1)


agent = Agent().cuda()
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5, foreach=False)
obs = torch.zeros(8, 64, 4, 84, 84, device="cuda")
scores, last = [], None
for update in range(4):
    actions, logps, values = [], [], []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for t in range(8):
            a, lp, _, v = agent.act(obs[t])
            actions.append(a)
            logps.append(lp)
            values.append(v)
    b_obs, b_act = obs.reshape(-1, 4, 84, 84), torch.stack(actions).reshape(-1).detach()
    b_logp, b_val = torch.stack(logps).reshape(-1).detach(), torch.stack(values).reshape(-1).detach()
    if not mistake("graph-unused"):
        del a, lp, v, actions, logps, values
    for start in range(0, 512, 128):
        part = slice(start, start + 128)
        _, new, entropy, value = agent.act(b_obs[part], b_act[part])
        ratio = (new - b_logp[part]).exp()
        advantage = -b_val[part]
        loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.2)).mean()
        loss = loss - 0.01 * entropy.mean() + 0.5 * (value ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=VARIANT in ("growth", "results-kept"))
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
        scores.append(loss if mistake("growth") else loss.item())
        if not mistake("results-kept"):
            del loss, ratio, new, entropy, value, advantage
print(len(scores))
