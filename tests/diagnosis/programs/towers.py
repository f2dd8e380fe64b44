# SPDX-License-Identifier: MIT
"""A model of two towers of which one is fine-tuned; the other is not called."""
# variants: idle busy
import torch
from torch import nn
from transformers import CLIPConfig, CLIPModel

from advice import VARIANT, adamw, advised

small = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4}
config = CLIPConfig(text_config={**small, "vocab_size": 20000},
                    vision_config={**small, "image_size": 64, "patch_size": 8})
clip = CLIPModel(config)
if advised("module-unused"):
    kept_on_host, clip.text_model = clip.text_model, nn.Identity()
clip.cuda()
judge = nn.Linear(256, 10).cuda()
optimizer = adamw([*clip.vision_model.parameters(), *judge.parameters()])
for _ in range(4):
    features = clip.vision_model(torch.zeros(16, 3, 64, 64).cuda()).pooler_output
    if VARIANT == "busy":
        features = features + clip.text_model(torch.randint(20000, (16, 20)).cuda()).pooler_output.detach()
    loss = judge(features).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
