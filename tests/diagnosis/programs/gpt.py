# SPDX-License-Identifier: MIT
"""A GPT in training."""
# variants: fp32 bf16 amp short
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, call, token_loss

WIDTH, HEADS, DEPTH, VOCABULARY = 384, 6, 6, 16000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        if advised("attention-scores"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
            y = (q @ k.transpose(-1, -2) / 8).masked_fill(mask, float("-inf")).softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens)
        for block in self.blocks:
            x = call(block, x)
        return self.norm(x)


def main():
    model = GPT().to("cuda", torch.bfloat16 if VARIANT == "bf16" else torch.float32)
    optimizer = adamw(model.parameters(), lr=1e-4)
    rows, length = (1, 48) if VARIANT == "short" else (8, 256)
    for _ in range(4):
        tokens = torch.randint(VOCABULARY, (rows, length)).cuda()
        with torch.autocast("cuda", torch.bfloat16, enabled=VARIANT == "amp"):
            loss = token_loss(model.head, model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


main()
