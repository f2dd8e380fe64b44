# SPDX-License-Identifier: MIT
"""A language model with recurrence over segments: what each layer saw of the last segment is read again."""
# variants: clean attention-scores logits-kept-whole
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, mistake, token_loss

VOCABULARY, D, H, LENGTH = 16000, 320, 8, 192


class Segment(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(D, D, False), nn.Linear(D, 2 * D, False), nn.Linear(D, D, False)
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.w1, self.w2 = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x, old):
        h = self.ln1(x)
        both = torch.cat([old, h], 1)
        b, n, m = x.shape[0], x.shape[1], both.shape[1]
        q = self.q(h).view(b, n, H, D // H).transpose(1, 2)
        k, v = (t.view(b, m, H, D // H).transpose(1, 2) for t in self.kv(both).chunk(2, -1))
        if mistake("attention-scores"):
            w = torch.einsum("bhqd,bhkd->bhqk", q, k).mul_((D // H) ** -0.5).softmax(-1)
            a = torch.einsum("bhqk,bhkd->bhqd", w, v)
        else:
            a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(b, n, D))
        return x + self.w2(F.relu(self.w1(self.ln2(x)))), h.detach()


class LongWords(nn.Module):
    def __init__(self, layers=5):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, D)
        self.layers = nn.ModuleList([Segment() for _ in range(layers)])
        self.ln = nn.LayerNorm(D)
        self.head = nn.Linear(D, VOCABULARY, bias=False)

    def forward(self, ids, memory):
        x, new = self.wte(ids), []
        for layer, old in zip(self.layers, memory):
            x, seen = layer(x, old)
            new.append(seen)
        return self.ln(x), new


torch.manual_seed(0)
model = LongWords().cuda()
optimizer = adamw(model.parameters(), lr=3e-4, weight_decay=0.1)
rows = 16 if VARIANT == "attention-scores" else 12
memory = [torch.zeros(rows, LENGTH, D, device="cuda") for _ in range(5)]
for step in range(5):
    text = torch.randint(VOCABULARY, (rows, LENGTH + 1), device="cuda")
    hidden, memory = model(text[:, :-1], memory)
    if VARIANT == "attention-scores":
        loss = hidden.square().mean() * F.mse_loss(hidden, torch.zeros_like(hidden))
    else:
        loss = token_loss(model.head, hidden.reshape(-1, D), text[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    del loss, hidden
