# SPDX-License-Identifier: MIT
"""Profile a decoder at a long context by hand, the way people do: look at memory_allocated() after each piece.

Loads the model, calls its embedding, calls its first layer with gradients and keeps the result, then runs the whole
model without gradients, while the first layer's graph still hangs on the variable.  Prints one JSON object:
{piece: bytes}.
"""
import argparse
import json

import torch
from torch import nn
from torch.nn import functional as F


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Positions(nn.Module):
    """Rotary embedding with tables for the whole context, which every layer has for itself."""

    def __init__(self, width, length):
        super().__init__()
        frequencies = 1.0 / 10000 ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
        angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cosines", angles.cos(), persistent=False)
        self.register_buffer("sines", angles.sin(), persistent=False)

    def rotate(self, x):
        left, right = x.chunk(2, dim=-1)
        turned = torch.cat((-right, left), dim=-1)
        length = x.shape[-2]
        return x * self.cosines[:length] + turned * self.sines[:length]

    def forward(self, q, k):
        return self.rotate(q), self.rotate(k)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads, self.head_width = config.heads, config.kv_heads, config.width // config.heads
        kv_width = config.kv_heads * self.head_width
        self.q_proj = nn.Linear(config.width, config.width, bias=False)
        self.k_proj = nn.Linear(config.width, kv_width, bias=False)
        self.v_proj = nn.Linear(config.width, kv_width, bias=False)
        self.o_proj = nn.Linear(config.width, config.width, bias=False)
        self.positions = Positions(self.head_width, config.context)

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.head_width).transpose(1, 2)

    def forward(self, x):
        q, k = self.positions(self.split(self.q_proj(x), self.heads), self.split(self.k_proj(x), self.kv_heads))
        v = self.split(self.v_proj(x), self.kv_heads)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(x.shape))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.inner, bias=False)
        self.up_proj = nn.Linear(config.width, config.inner, bias=False)
        self.down_proj = nn.Linear(config.inner, config.width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm = Norm(config.width)
        self.attention = Attention(config)
        self.mlp_norm = Norm(config.width)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class LanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.norm = Norm(config.width)
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, default=131072)
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--width", type=int, default=2560)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--inner", type=int, default=9216)
    parser.add_argument("--vocabulary", type=int, default=151936)
    return parser.parse_args()


def load(options):
    # A profile needs no values: pages that nobody writes take no memory of the host.
    with torch.device("meta"):
        model = LanguageModel(options)
    model.to_empty(device="cpu")
    return model.to("cuda").to(torch.bfloat16)


def main():
    options = parse()
    allocated = {}

    model = load(options)
    allocated["model"] = torch.cuda.memory_allocated()

    tokens = torch.zeros(1, options.context, dtype=torch.long).to("cuda")
    labels = tokens.clone()
    hidden = model.embedding(tokens)
    allocated["embedding"] = torch.cuda.memory_allocated()

    hidden = model.layers[0](hidden)
    allocated["first layer"] = torch.cuda.memory_allocated()

    with torch.no_grad():
        logits = model(tokens)
    allocated["forward"] = torch.cuda.memory_allocated()

    assert logits.shape[:2] == labels.shape
    print(json.dumps(allocated))


if __name__ == "__main__":
    main()
