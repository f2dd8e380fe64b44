# SPDX-License-Identifier: MIT
"""Train for a few steps and leave three named marks behind, with what PyTorch itself says at each of them.

Prints one JSON object: {"marks": {name: torch.cuda.memory_allocated()}, "peak": torch.cuda.max_memory_allocated()}.
The tests compare these figures with the recorded database.  Runs without vtrace too (marks are then nothing).
"""
import argparse
import ctypes
import json

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class SmallGpt(nn.Module):
    def __init__(self, vocabulary, width, layers, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(args):
    model = SmallGpt(args.vocabulary, args.width, args.layers, args.length).cuda()

    def loss_of(tokens):
        logits = model(tokens)
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    return model, loss_of


def qwen2(args):
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(vocab_size=args.vocabulary, hidden_size=args.width, num_hidden_layers=args.layers,
                         intermediate_size=3 * args.width, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=args.length)
    model = Qwen2ForCausalLM(config).to(device="cuda", dtype=torch.bfloat16)

    def loss_of(tokens):
        return model(input_ids=tokens, labels=tokens).loss

    return model, loss_of


def make_marker(figures):
    library = ctypes.CDLL(None)
    leave = getattr(library, "vtrace_mark", None)

    def mark(name):
        torch.cuda.synchronize()
        figures[name] = torch.cuda.memory_allocated()
        if leave is not None:
            leave(name.encode())

    return mark


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("gpt", "qwen2"), default="gpt")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=8192)
    args = parser.parse_args()

    figures = {}
    mark = make_marker(figures)
    model, loss_of = {"gpt": gpt, "qwen2": qwen2}[args.model](args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    mark("loaded")
    for step in range(args.steps):
        tokens = torch.randint(args.vocabulary, (args.batch, args.length)).cuda()
        loss = loss_of(tokens)
        if step == 1:
            mark("after-forward")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    mark("trained")
    print(json.dumps({"marks": figures, "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
