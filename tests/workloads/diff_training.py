# SPDX-License-Identifier: MIT
"""A small language model in training, with one switch for each change that `vtrace diff` is to find: NAME=VALUE..."""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

OPTIONS = {"batch": 4, "length": 256, "layers": 3, "dtype": "bfloat16", "checkpoint": 0, "attention": "sdpa",
           "loss": "whole", "optimizer": "AdamW", "leak": 0}
OPTIONS |= {key: type(OPTIONS[key])(value) for key, value in (word.split("=") for word in sys.argv[1:])}
HIDDEN, HEADS, VOCABULARY = 256, 8, 16384


def attend(q, k, v):
    if OPTIONS["attention"] == "sdpa":
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.proj = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        return self.proj(attend(q, k, v).transpose(1, 2).reshape(x.shape))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.down = nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(HIDDEN), Attention()
        self.norm2, self.mlp = nn.LayerNorm(HIDDEN), MLP()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Block() for _ in range(OPTIONS["layers"]))
        self.head = nn.Linear(HIDDEN, VOCABULARY)

    def body(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if OPTIONS["checkpoint"] else layer(x)
        return x


def chunk_loss(model, hidden, tokens):
    return F.cross_entropy(model.head(hidden).float(), tokens, reduction="sum")


def loss_of(model, tokens):
    hidden = model.body(tokens).flatten(0, 1)
    if OPTIONS["loss"] == "whole":
        return F.cross_entropy(model.head(hidden).float(), tokens.flatten())
    parts = zip(hidden.chunk(8), tokens.flatten().chunk(8))
    return sum(checkpoint(chunk_loss, model, *part, use_reentrant=False) for part in parts) / tokens.numel()


def main():
    model = Model().to("cuda", getattr(torch, OPTIONS["dtype"]))
    optimizer = getattr(torch.optim, OPTIONS["optimizer"])(model.parameters(), lr=1e-3)
    kept = []
    for _ in range(5):
        tokens = torch.randint(VOCABULARY, (OPTIONS["batch"], OPTIONS["length"]), device="cuda")
        loss = loss_of(model, tokens)
        if OPTIONS["leak"]:
            kept.append(model.embedding(tokens).float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
