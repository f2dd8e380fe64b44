# SPDX-License-Identifier: MIT
"""Questions about pictures: a frozen CLIP tower, a projector, and a GPT-2 with low-rank adapters of peft."""
# variants: clean module-unused frozen-weights-wide
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import CLIPConfig, CLIPModel, GPT2Config, GPT2LMHeadModel

from advice import adamw, advised, mistake, token_loss

vision = dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8, image_size=224)
text = dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8, vocab_size=20000)
clip = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=512)).eval().requires_grad_(False)
language = GPT2LMHeadModel(GPT2Config(vocab_size=8000, n_embd=512, n_layer=6, n_head=8, use_cache=False))
language = get_peft_model(language, LoraConfig(r=8, target_modules=["c_attn"], fan_in_fan_out=True))
if not mistake("frozen-weights-wide"):
    clip.bfloat16()
    for p in language.parameters():
        if not p.requires_grad:
            p.data = p.data.bfloat16()
eyes = clip if mistake("module-unused") else clip.vision_model
eyes.cuda()
language.cuda()
if advised("activations-kept"):
    language.get_base_model().gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
bridge = nn.Linear(512, 512).cuda()
opt = adamw([p for p in [*language.parameters(), *bridge.parameters()] if p.requires_grad])
for step in range(3):
    pictures = torch.randn(4, 3, 224, 224).cuda()
    words = torch.randint(8000, (4, 48)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        with torch.no_grad():
            seen = clip.vision_model(pixel_values=pictures).last_hidden_state
        base = language.get_base_model()
        inputs = torch.cat([bridge(seen), base.transformer.wte(words)], 1)
        hidden = base.transformer(inputs_embeds=inputs).last_hidden_state[:, -49:-1]
        loss = token_loss(base.lm_head, hidden.flatten(0, 1), words.flatten())
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    del loss, hidden, seen, inputs
