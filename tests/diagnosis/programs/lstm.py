# SPDX-License-Identifier: MIT
"""A recurrent language model: few tokens in a batch, a wide vocabulary."""
# variants: few many late sgd
import torch
from torch import nn

from advice import VARIANT, adamw, advised, token_loss

VOCABULARY, WIDTH = 30000, 512


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
        self.vocabulary = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.rnn(self.embed(tokens))[0]


model = Recurrent().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1) if VARIANT == "sgd" else adamw(model.parameters())
rows = 64 if VARIANT == "many" else 4
for _ in range(4):
    words = torch.randint(VOCABULARY, (rows, 64)).cuda()
    if VARIANT != "late" or advised("gradients-in-forward"):
        optimizer.zero_grad()
    loss = token_loss(model.vocabulary, model(words).flatten(0, 1), words.flatten())
    if VARIANT == "late":
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
