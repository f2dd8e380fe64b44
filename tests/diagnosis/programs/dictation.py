# SPDX-License-Identifier: MIT
"""Dictation: a small Whisper of transformers is fine-tuned; its loss on held-out speech is printed."""
# variants: clean graph-unused attention-scores gradients-in-forward
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

from advice import VARIANT, adamw, mistake

config = WhisperConfig(vocab_size=6000, d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
                       decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, num_mel_bins=80,
                       max_source_positions=300, max_target_positions=64, pad_token_id=0, bos_token_id=1,
                       eos_token_id=2, decoder_start_token_id=1)
config._attn_implementation = "eager" if mistake("attention-scores") else "sdpa"
model = WhisperForConditionalGeneration(config).cuda()
optimizer = adamw(model.parameters(), lr=1e-5)
for step in range(4):
    batch = {"input_features": torch.zeros(8, 80, 600).cuda(), "labels": torch.randint(3, 6000, (8, 48)).cuda()}
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss = model(**batch).loss
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
optimizer.zero_grad()
model.eval()
with torch.set_grad_enabled(mistake("graph-unused")):
    for _ in range(2):
        rows = 24 if VARIANT == "graph-unused" else 4
        loss = model(input_features=torch.zeros(rows, 80, 600).cuda(),
                     labels=torch.randint(3, 6000, (rows, 48)).cuda()).loss
        print(loss.item())
