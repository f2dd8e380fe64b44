# SPDX-License-Identifier: MIT
"""A state space model: gated blocks with a convolution in time and a running sum; a language model's loss."""
# variants: clean gradients-in-forward graph-unused
import torch
from torch import nn
from torch.nn import functional as F

from advice import adamw, call, mistake, token_loss

WIDTH, WORDS = 320, 20000


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH)
        self.enter, self.leave = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.time = nn.Conv1d(2 * WIDTH, 2 * WIDTH, 4, padding=3, groups=2 * WIDTH)
        self.decay = nn.Parameter(torch.zeros(2 * WIDTH))

    def forward(self, x):
        a, gate = self.enter(self.norm(x)).chunk(2, -1)
        a = F.silu(self.time(a.mT)[..., :x.shape[1]].mT)
        weight = torch.exp(-F.softplus(self.decay) * torch.arange(x.shape[1], device=x.device)[:, None])
        return x + self.leave(torch.cumsum(a * weight, 1) / weight * F.silu(gate))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Scan() for _ in range(6))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = call(layer, x)
        return self.norm(x)


model = Model().to("cuda", torch.bfloat16)
optimizer = adamw(model.parameters())


def loss_of(rows):
    tokens = torch.randint(WORDS, (rows, 256), device="cuda")
    return token_loss(model.head, model(tokens).flatten(0, 1), tokens.flatten())


for _ in range(4):
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss = loss_of(6)
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.set_grad_enabled(mistake("graph-unused")):
    print(sum(loss_of(12).item() for _ in range(2)))
