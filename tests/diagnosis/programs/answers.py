# SPDX-License-Identifier: MIT
"""Answers as spans: a BERT of transformers is fine-tuned in micro-batches; spans of a test set are collected."""
# variants: clean attention-scores predictions-gathered graph-unused results-kept
import torch
from transformers import BertConfig, BertForQuestionAnswering

from advice import VARIANT, adamw, advised, mistake

config = BertConfig(vocab_size=8000, hidden_size=384, num_hidden_layers=5, num_attention_heads=6,
                    intermediate_size=1536, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                    attn_implementation="eager" if mistake("attention-scores") else "sdpa")
model = BertForQuestionAnswering(config).cuda()
if advised("activations-kept"):
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
opt = adamw(model.parameters(), lr=3e-5)
length = 384
for step in range(3):
    model.train()
    for micro in range(2):
        ids = torch.randint(8000, (4, length), device="cuda")
        at = torch.zeros(4, dtype=torch.long, device="cuda")
        out = model(input_ids=ids, start_positions=at, end_positions=at,
                    output_hidden_states=VARIANT == "results-kept")
        (out.loss / 2).backward()
        if not mistake("results-kept"):
            out = None
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
out = None
model.eval()
spans = []
if VARIANT in ("predictions-gathered", "graph-unused"):
    for step in range(8):
        ids = torch.randint(8000, (32, length), device="cuda")
        with torch.set_grad_enabled(mistake("graph-unused")):
            out = model(input_ids=ids, output_hidden_states=VARIANT == "predictions-gathered")
        if VARIANT == "predictions-gathered":
            feature = out.hidden_states[-1]
            spans.append(feature if mistake("predictions-gathered") else feature.cpu())
        else:
            spans.append(out.start_logits.argmax(1).cpu())
        out = None
    print(torch.cat(spans).shape)
