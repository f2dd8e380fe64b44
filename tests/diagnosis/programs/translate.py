# SPDX-License-Identifier: MIT
"""Sequence to sequence with recurrent cells; gradients are cleared late."""
# variants: late early
import torch
from torch import nn

from advice import VARIANT, advised, token_loss


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(12000, 400), nn.Embedding(12000, 400)
        self.reader, self.writer = nn.GRU(400, 400, batch_first=True), nn.GRU(400, 400, batch_first=True)
        self.words = nn.Linear(400, 12000)

    def forward(self, a, b):
        state = self.reader(self.source(a))[1]
        return self.writer(self.target(b), state)[0]


model = Translator().cuda()
optimizer = torch.optim.Adagrad(model.parameters(), foreach=False)
for _ in range(5):
    a, b = torch.randint(12000, (2, 64, 40)).cuda()
    if VARIANT == "early" or advised("gradients-in-forward"):
        optimizer.zero_grad()
    loss = token_loss(model.words, model(a, b).flatten(0, 1), b.flatten())
    if VARIANT == "late":
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
