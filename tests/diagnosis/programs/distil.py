# SPDX-License-Identifier: MIT
"""A small language model in 16 bits learns from a large frozen one, token by token."""
# variants: clean frozen-weights-wide graph-unused
import torch
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2Model

from advice import VARIANT, adamw, advised, mistake

WORDS = 8000


class Language(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.body = GPT2Model(GPT2Config(vocab_size=WORDS, n_embd=width, n_layer=depth, n_head=8, use_cache=False))
        self.head = nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(self.body(tokens).last_hidden_state)


dtype = torch.float32 if mistake("frozen-weights-wide") else torch.bfloat16
large = Language(768, 6).requires_grad_(VARIANT == "graph-unused").to("cuda", dtype).eval()
small = Language(256, 3).to("cuda", torch.bfloat16)
if advised("activations-kept"):
    small.body.gradient_checkpointing_enable({"use_reentrant": False})
optimizer = adamw(small.parameters())
for _ in range(4):
    tokens = torch.randint(WORDS, (4, 128)).cuda()
    with torch.set_grad_enabled(mistake("graph-unused")):
        goal = large(tokens).detach().float().softmax(-1)
    loss = F.kl_div(small(tokens).float().log_softmax(-1), goal, reduction="batchmean")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del goal, loss
