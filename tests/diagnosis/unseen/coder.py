# SPDX-License-Identifier: MIT
"""Qwen2 of transformers learns source code; prompts are then continued."""
# variants: clean logits-kept-whole logits-of-all-tokens attention-scores
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from advice import VARIANT, adamw, mistake, token_loss

config = Qwen2Config(vocab_size=20000, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                     num_attention_heads=8, num_key_value_heads=2, tie_word_embeddings=True,
                     attn_implementation="eager" if mistake("attention-scores") else "sdpa")
model = Qwen2ForCausalLM(config).cuda()
if VARIANT == "logits-of-all-tokens":
    model.eval()
    prompt = torch.randint(20000, (8, 384), device="cuda")
    with torch.inference_mode():
        for _ in range(3):
            out = model(prompt, use_cache=True, logits_to_keep=0 if mistake("logits-of-all-tokens") else 1)
            word = out.logits[:, -1].argmax(-1, keepdim=True)
            cache = out.past_key_values
            for _ in range(6):
                out = model(word, past_key_values=cache, use_cache=True)
                word = out.logits[:, -1].argmax(-1, keepdim=True)
            del out, cache
else:
    optimizer = adamw(model.parameters(), lr=1e-4)
    length = 512 if VARIANT == "attention-scores" else 256
    for _ in range(3):
        ids = torch.randint(20000, (8, length), device="cuda")
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
        if VARIANT == "attention-scores":
            loss = hidden.float().pow(2).mean()
        else:
            loss = token_loss(model.lm_head, hidden.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
        del loss, hidden
