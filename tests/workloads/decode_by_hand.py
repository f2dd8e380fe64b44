# SPDX-License-Identifier: MIT
"""Greedy decoding without generate(): the prompt first, then token by token with a key-value cache that grows.

--cache says who holds the cache: "tuple" hands it from call to call, "module" keeps it in the attention module.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, keeps):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads, self.keeps, self.kept = heads, keeps, None

    def forward(self, x, past):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        past = self.kept if self.keeps else past
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        else:
            k, v = k.contiguous(), v.contiguous()
        if self.keeps:
            self.kept = k, v
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width)), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads, keeps):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, keeps)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, past):
        mixed, past = self.attention(self.norm1(x), past)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), past


class Decoder(nn.Module):
    def __init__(self, vocabulary, width, layers, keeps):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, 8, keeps) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, past=None):
        x = self.tokens(tokens)
        new = []
        for i, block in enumerate(self.blocks):
            x, one = block(x, past[i] if past else None)
            new.append(one)
        return self.head(self.norm(x[:, -1:])), new


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", choices=("tuple", "module"), default="tuple")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--new", type=int, default=12)
    parser.add_argument("--batch", type=int, default=4)
    args = parser.parse_args()

    model = Decoder(8192, 512, 4, args.cache == "module").to("cuda", torch.bfloat16).eval()
    prompt = torch.zeros(args.batch, args.prompt, dtype=torch.long).to("cuda")
    with torch.no_grad():
        logits, past = model(prompt)
        token = logits[:, -1:].argmax(-1).flatten(1)
        for _ in range(args.new - 1):
            logits, past = model(token, past if args.cache == "tuple" else None)
            token = logits[:, -1:].argmax(-1).flatten(1)
    print(f"made {args.new} tokens")


if __name__ == "__main__":
    main()
