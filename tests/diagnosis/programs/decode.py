# SPDX-License-Identifier: MIT
"""Greedy decoding by hand with a cache."""
# variants: no-grad graph
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from advice import VARIANT, advised

model = GPT2LMHeadModel(GPT2Config(vocab_size=20000, n_embd=256, n_layer=4, n_head=4)).to("cuda").eval()
for _ in range(3):
    tokens = torch.randint(20000, (8, 256)).cuda()
    cache = None
    with torch.set_grad_enabled(VARIANT == "graph" and not advised("graph-unused")):
        for _ in range(12):
            out = model(tokens, past_key_values=cache, use_cache=True,
                        **({"logits_to_keep": 1} if advised("logits-of-all-tokens") else {}))
            cache = out.past_key_values
            tokens = out.logits[:, -1].argmax(-1, keepdim=True)
