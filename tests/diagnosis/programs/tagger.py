# SPDX-License-Identifier: MIT
"""Names in sentences: a DistilBERT of transformers for tokens; a test set is scored and kept."""
# variants: clean graph-unused attention-scores predictions-gathered
import torch
from transformers import DistilBertConfig, DistilBertForTokenClassification

from advice import VARIANT, adamw, mistake

config = DistilBertConfig(vocab_size=8000, dim=384, hidden_dim=1536, n_layers=4, n_heads=6, num_labels=9)
config._attn_implementation = "eager" if mistake("attention-scores") else "sdpa"
model = DistilBertForTokenClassification(config).cuda()
optimizer = adamw(model.parameters(), lr=5e-5)
length = 384 if VARIANT == "attention-scores" else 128
for step in range(3):
    ids = torch.randint(8000, (16, length)).cuda()
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.zeros_like(ids))
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del out
model.eval()
hidden = []
with torch.set_grad_enabled(mistake("graph-unused")):
    for _ in range(30 if VARIANT == "predictions-gathered" else 2):
        ids = torch.randint(8000, (64 if VARIANT != "attention-scores" else 4, length)).cuda()
        h = model.distilbert(input_ids=ids).last_hidden_state
        print(model.classifier(h).argmax(-1).float().mean().item())
        hidden.append(h if mistake("predictions-gathered") else h.cpu())
        del h
print(len(hidden))
