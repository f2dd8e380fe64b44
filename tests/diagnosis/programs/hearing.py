# SPDX-License-Identifier: MIT
"""Wav2Vec2 of transformers learns characters by CTC; its convolutions are frozen; validated on longer clips."""
# variants: clean graph-unused results-kept gradients-in-forward
import torch
from torch.nn import functional as F
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

from advice import VARIANT, adamw, advised, mistake

config = Wav2Vec2Config(vocab_size=32, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                        intermediate_size=1024, conv_dim=(128,) * 7, num_conv_pos_embeddings=32,
                        mask_time_prob=0.0, layerdrop=0.0, hidden_dropout=0.0, attention_dropout=0.0)
model = Wav2Vec2ForCTC(config)
model.freeze_feature_encoder()
model.cuda()
if advised("activations-kept"):
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
optimizer = adamw([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def ctc_like(logits):
    return -F.log_softmax(logits.float(), -1)[..., 0].mean()


late = mistake("gradients-in-forward")
outputs = None
for step in range(4):
    wave = torch.randn(4, 48000).cuda()
    if not late:
        optimizer.zero_grad()
    outputs = model(wave, output_hidden_states=VARIANT == "results-kept")
    loss = ctc_like(outputs.logits)
    if late:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
    if not mistake("results-kept"):
        del outputs, loss
if not late:
    optimizer.zero_grad()
if VARIANT == "graph-unused":
    model.eval()
    total = 0.0
    for step in range(2):
        wave = torch.randn(8, 80000).cuda()
        if mistake("graph-unused"):
            total += ctc_like(model(wave).logits).item()
        else:
            with torch.no_grad():
                total += ctc_like(model(wave).logits).item()
    print(total)
