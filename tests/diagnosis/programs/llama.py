# SPDX-License-Identifier: MIT
"""A Llama of transformers in training, with its own loss."""
# variants: bf16 fp32 eager eval tied
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from advice import VARIANT, adamw, advised, token_loss

config = LlamaConfig(vocab_size=32000, hidden_size=256, intermediate_size=688, num_hidden_layers=6,
                     num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=512,
                     tie_word_embeddings=VARIANT == "tied",
                     attn_implementation="eager" if VARIANT == "eager" and not advised("attention-scores") else "sdpa")
model = LlamaForCausalLM(config).to("cuda", torch.float32 if VARIANT == "fp32" else torch.bfloat16)
if advised("activations-kept"):
    model.gradient_checkpointing_enable({"use_reentrant": False})
optimizer = adamw(model.parameters())


def loss_of(tokens):
    hidden = model.model(tokens, use_cache=False).last_hidden_state
    return token_loss(model.lm_head, hidden.flatten(0, 1), tokens.flatten())


for step in range(4):
    tokens = torch.randint(32000, (4, 256)).cuda()
    loss = loss_of(tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if VARIANT == "eval":
        for _ in range(2):
            with torch.set_grad_enabled(not advised("graph-unused")):
                print(loss_of(torch.randint(32000, (12, 256)).cuda()).item())
