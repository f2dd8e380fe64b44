# SPDX-License-Identifier: MIT
"""Masked language modelling with a BERT under autocast, gradients accumulated over two batches."""
# variants: amp plain
import torch
from transformers import BertConfig, BertModel

from advice import VARIANT, adamw, advised, token_loss

net = BertModel(BertConfig(vocab_size=24000, hidden_size=320, num_hidden_layers=5, num_attention_heads=5,
                           intermediate_size=1280), add_pooling_layer=False).cuda()
if advised("activations-kept"):
    net.gradient_checkpointing_enable({"use_reentrant": False})
decoder = torch.nn.Linear(320, 24000).cuda()
opt = adamw([*net.parameters(), *decoder.parameters()])
for step in range(6):
    ids = torch.randint(24000, (8, 128)).cuda()
    with torch.autocast("cuda", torch.bfloat16, enabled=VARIANT == "amp"):
        loss = token_loss(decoder, net(ids).last_hidden_state.flatten(0, 1), ids.flatten())
    (loss / 2).backward()
    if step % 2:
        opt.step()
        opt.zero_grad()
