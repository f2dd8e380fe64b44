# SPDX-License-Identifier: MIT
"""A T5 of transformers that learns to summarise; its loss is validated."""
# variants: clean graph-unused module-unused
import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

from advice import VARIANT, adamw, advised, mistake, token_loss

config = T5Config(vocab_size=16000, d_model=256, d_kv=32, d_ff=1024, num_layers=4, num_heads=8,
                  tie_word_embeddings=False)
model = T5ForConditionalGeneration(config)
if VARIANT == "module-unused" and not advised("module-unused"):
    model.ranker = nn.Sequential(nn.Linear(256, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                                 nn.Linear(4096, 1))
model.cuda()
if advised("activations-kept"):
    model.gradient_checkpointing_enable({"use_reentrant": False})
optimizer = adamw(model.parameters())


def loss_of(rows):
    articles, summaries = torch.randint(16000, (rows, 160)).cuda(), torch.randint(16000, (rows, 48)).cuda()
    read = model.encoder(articles).last_hidden_state
    written = model.decoder(input_ids=summaries, encoder_hidden_states=read, use_cache=False).last_hidden_state
    return token_loss(model.lm_head, written.flatten(0, 1), summaries.flatten())


for _ in range(3):
    loss = loss_of(8)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
del loss
with torch.set_grad_enabled(mistake("graph-unused")):
    for _ in range(2):
        print(loss_of(24).item())
