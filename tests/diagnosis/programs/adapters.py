# SPDX-License-Identifier: MIT
"""Low-rank adapters in a frozen decoder with few heads of keys, under autocast or in 16 bits."""
# variants: clean frozen-weights-wide repeated-keys attention-scores
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, call, mistake, token_loss

WIDTH, HEADS, WORDS = 512, 8, 12000
GROUPS = HEADS if VARIANT == "attention-scores" else 2


class Adapted(nn.Module):
    def __init__(self, inside, outside, rank=8):
        super().__init__()
        self.base = nn.Linear(inside, outside, bias=False).requires_grad_(False)
        self.a, self.b = nn.Linear(inside, rank, bias=False), nn.Linear(rank, outside, bias=False)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        side = WIDTH // HEADS * GROUPS
        self.q_proj, self.k_proj, self.v_proj = Adapted(WIDTH, WIDTH), Adapted(WIDTH, side), Adapted(WIDTH, side)
        self.o_proj = Adapted(WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (p(x).view(b, t, -1, WIDTH // HEADS).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        if mistake("repeated-keys"):
            k, v = k.repeat_interleave(HEADS // GROUPS, 1), v.repeat_interleave(HEADS // GROUPS, 1)
        if mistake("attention-scores"):
            y = ((q @ k.mT) / 8).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.attention = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH), Attention()
        self.gate, self.up, self.down = (Adapted(*s) for s in ((WIDTH, 1376), (WIDTH, 1376), (1376, WIDTH)))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH).requires_grad_(False)
        self.layers = nn.ModuleList(Layer() for _ in range(5))
        self.head = nn.Linear(WIDTH, WORDS, bias=False).requires_grad_(False)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = call(layer, x)
        return x


model = Decoder().to("cuda", torch.float32 if mistake("frozen-weights-wide") else torch.bfloat16)
optimizer = adamw(p for p in model.parameters() if p.requires_grad)
for _ in range(4):
    tokens = torch.randint(WORDS, (2 if VARIANT == "frozen-weights-wide" else 6, 256)).cuda()
    with torch.autocast("cuda", torch.bfloat16, enabled=VARIANT == "frozen-weights-wide"):
        loss = token_loss(model.head, model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
