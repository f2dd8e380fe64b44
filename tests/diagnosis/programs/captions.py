# SPDX-License-Identifier: MIT
"""Captions of pictures: a convolutional encoder, a decoder that attends to it; a word at a time is scored."""
# variants: clean attention-scores graph-unused
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import adamw, mistake, token_loss

WORDS, DIM, HEADS = 12000, 256, 8


class Eyes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3)
        self.bn1 = nn.BatchNorm2d(64)
        self.conv2 = nn.Conv2d(64, 128, 3, 2, 1)
        self.bn2 = nn.BatchNorm2d(128)
        self.conv3 = nn.Conv2d(128, DIM, 3, 2, 1)

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = self.bn2(x)
        x = F.relu(x)
        x = self.conv3(x)
        return x.flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q = nn.Linear(DIM, DIM)
        self.to_kv = nn.Linear(DIM, 2 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x, context, mask=None):
        b, n, _ = x.shape
        q = self.to_q(x).reshape(b, n, HEADS, -1).transpose(1, 2)
        k, v = self.to_kv(context).reshape(b, context.shape[1], 2, HEADS, -1).permute(2, 0, 3, 1, 4)
        if mistake("attention-scores"):
            attn = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            if mask is not None:
                attn = attn.masked_fill(mask, float("-inf"))
            attn = attn.softmax(dim=-1)
            out = torch.matmul(attn, v)
        else:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
        return self.proj(out.transpose(1, 2).reshape(b, n, DIM))


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = Eyes()
        self.words = nn.Embedding(WORDS, DIM)
        self.own = nn.ModuleList([Attention() for _ in range(3)])
        self.cross = nn.ModuleList([Attention() for _ in range(3)])
        self.ff = nn.ModuleList([nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))
                                 for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(9)])
        self.vocab = nn.Linear(DIM, WORDS)

    def forward(self, pictures, words):
        seen = self.eyes(pictures)
        mask = torch.ones(words.shape[1], words.shape[1], dtype=torch.bool, device=words.device).triu(1)
        h = self.words(words)
        for i in range(3):
            y = self.norms[3 * i](h)
            h = h + self.own[i](y, y, mask)
            h = h + self.cross[i](self.norms[3 * i + 1](h), seen)
            h = h + self.ff[i](self.norms[3 * i + 2](h))
        return h


def main():
    model = Captioner().cuda()
    optimizer = adamw(model.parameters(), lr=1e-4)
    for step in range(4):
        pictures = torch.zeros(16, 3, 128, 128, device="cuda")
        words = torch.zeros(16, 64, dtype=torch.long, device="cuda")
        optimizer.zero_grad(set_to_none=True)
        hidden = model(pictures, words)
        loss = token_loss(model.vocab, hidden.flatten(0, 1), words.flatten())
        loss.backward()
        optimizer.step()
        del loss, hidden
    model.eval()
    words = torch.zeros(24, 1, dtype=torch.long, device="cuda")
    pictures = torch.zeros(24, 3, 128, 128, device="cuda")
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(10):
            logits = model.vocab(model(pictures, words)[:, -1])
            words = torch.cat([words, logits.argmax(-1, keepdim=True)], dim=1)
    print(words.shape)


if __name__ == "__main__":
    main()
