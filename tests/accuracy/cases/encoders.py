# SPDX-License-Identifier: MIT
"""Encoders, encoders with decoders, and models of text and images, from transformers; adapters from peft."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn

V, H = 16000, 512
HF = {"*.attention": "attention", "*.self_attn": "attention", "*.SelfAttention": "attention", "*norm*": "norm",
      "*.EncDecAttention": "attention", "*.mlp": "mlp", "*.DenseReluDense": "mlp", "*.intermediate": "mlp",
      "*.attention.output.dense": "attention", "*.attention.output.dropout": "attention",
      "*.attention.output": "residual", "*.output.dense": "mlp", "*layernorm*": "norm",
      "*layer_norm*": "norm", "*LayerNorm": "norm",
      "*.rotary_emb": "attention", "*patch_embedding*": "embedding", "*patch_embeddings*": "embedding",
      "*.embeddings": "embedding"}


def train(model, batch_of, steps=3, optimizer=None):
    model.train()
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model, optimizer)
    stage("loaded")
    for step in range(steps):
        batch = batch_of()
        out = model(**batch)
        stage(f"forward-{step}", inputs="batch")
        out.loss.backward()
        stage(f"backward-{step}", inputs="batch")
        optimizer.step()
        stage(f"step-{step}", inputs="batch")
        optimizer.zero_grad()


def text(rows=8, length=256):
    ids = torch.randint(0, V, (rows, length), device="cuda")
    return {"input_ids": ids, "labels": ids}


@case(family="encoder, masked words", mode="fp32, Adafactor", roles=HF, heads=["cls.predictions.decoder"])
def bert():
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=H, num_hidden_layers=4, num_attention_heads=8,
                                       intermediate_size=1536)).to("cuda")
    train(model, text, optimizer=torch.optim.Adafactor(model.parameters()))


@case(family="encoder and decoder", mode="fp32, Adafactor of transformers", heads=["lm_head"],
      roles={**HF, "*.layer.0.dropout": "attention", "decoder.*.layer.1.dropout": "attention",
             "*.layer.?.dropout": "mlp"},
      functions={"Adafactor.step": "workspace/optimizer"})
def t5():
    from transformers import Adafactor, T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(vocab_size=V, d_model=H, num_layers=3, num_heads=8, d_kv=64, d_ff=1024,
                                                decoder_start_token_id=0, pad_token_id=0, use_cache=False)).to("cuda")
    train(model, text, optimizer=Adafactor(model.parameters()))


@case(family="encoder and decoder", mode="autocast fp16, padded", roles={**HF, "*.encoder_attn": "attention",
      "*.fc?": "mlp", "*.activation_fn": "mlp"}, heads=["lm_head"])
def bart():
    from transformers import BartConfig, BartForConditionalGeneration
    model = BartForConditionalGeneration(BartConfig(vocab_size=V, d_model=H, encoder_layers=2, decoder_layers=2,
                                                    encoder_attention_heads=8, decoder_attention_heads=8,
                                                    encoder_ffn_dim=1024, decoder_ffn_dim=1024, use_cache=False))
    model = model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    watch(model, optimizer)
    for step in range(3):
        batch = {k: v.to("cuda") for k, v in text_on_host().items()}
        with torch.amp.autocast("cuda", torch.float16):
            out = model(**batch)
        stage(f"forward-{step}", inputs="batch")
        scaler.scale(out.loss).backward()
        stage(f"backward-{step}", inputs="batch")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def text_on_host():
    ids = torch.randint(5, V, (8, 200))
    return {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}


@case(family="vision encoder", mode="fp32, SGD", roles=HF, heads=["classifier"])
def vit():
    from transformers import ViTConfig, ViTForImageClassification
    model = ViTForImageClassification(ViTConfig(hidden_size=H, num_hidden_layers=4, num_attention_heads=8,
                                                intermediate_size=1024, num_labels=1000)).to("cuda")
    train(model, lambda: {"pixel_values": torch.randn(16, 3, 224, 224).to("cuda"),
                          "labels": torch.randint(0, 1000, (16,)).to("cuda")},
          optimizer=torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))


@case(family="text and images, contrastive", mode="fp32", roles=HF)
def clip():
    from transformers import CLIPConfig, CLIPModel
    part = {"hidden_size": H, "num_hidden_layers": 3, "num_attention_heads": 8, "intermediate_size": 1024}
    model = CLIPModel(CLIPConfig(text_config={**part, "vocab_size": V},
                                 vision_config={**part, "image_size": 224, "patch_size": 16})).to("cuda")
    train(model, lambda: {"input_ids": torch.randint(0, V, (16, 64), device="cuda"), "return_loss": True,
                          "pixel_values": torch.randn(16, 3, 224, 224, device="cuda")})


class Seer(nn.Module):
    """Patches of a picture, four folded into one, before the words."""

    def __init__(self):
        from transformers import LlamaConfig, LlamaForCausalLM, SiglipVisionConfig, SiglipVisionModel
        super().__init__()
        part = {"num_hidden_layers": 3, "num_attention_heads": 8}
        self.eye = SiglipVisionModel(SiglipVisionConfig(hidden_size=256, intermediate_size=768, image_size=224,
                                                        patch_size=14, vision_use_head=False, **part))
        self.connector = nn.Sequential(nn.LayerNorm(1024), nn.Linear(1024, H), nn.GELU(), nn.Linear(H, H))
        self.language = LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=H, num_key_value_heads=4,
                                                     intermediate_size=1024, use_cache=False, **part))

    def forward(self, pixel_values, input_ids, labels):
        with torch.no_grad():
            seen = self.eye(pixel_values=pixel_values).last_hidden_state
        side = int(seen.shape[1] ** 0.5)
        folded = F.pixel_unshuffle(seen.transpose(1, 2).unflatten(2, (side, side)), 2).flatten(2).transpose(1, 2)
        read = self.language.get_input_embeddings()(input_ids)
        x = torch.cat([self.connector(folded), read], 1)
        labels = torch.cat([labels.new_full(folded.shape[:2], -100), labels], 1)
        return self.language(inputs_embeds=x, labels=labels)


@case(family="text and images, pixel shuffle", mode="bf16, vision frozen", roles={**HF, "connector": "mlp"},
      heads=["language.lm_head"])
def pixel_shuffle():
    model = Seer().to("cuda", torch.bfloat16)
    model.eye.requires_grad_(False)
    train(model, lambda: text(4, 192) | {"pixel_values": torch.randn(4, 3, 224, 224).to("cuda", torch.bfloat16)})


@case(family="speech, encoder and decoder", mode="fp32", heads=["proj_out"],
      roles={**HF, "*.encoder_attn": "attention", "*.fc?": "mlp", "*.activation_fn": "mlp"})
def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    model = WhisperForConditionalGeneration(WhisperConfig(vocab_size=V, d_model=256, encoder_layers=2, decoder_layers=2,
                                                          encoder_attention_heads=4, decoder_attention_heads=4,
                                                          encoder_ffn_dim=768, decoder_ffn_dim=768, pad_token_id=0,
                                                          decoder_start_token_id=1, max_source_positions=500,
                                                          use_cache=False))
    train(model.to("cuda"), lambda: {"input_features": torch.randn(8, 80, 1000).to("cuda"),
                                     "labels": torch.randint(2, V, (8, 100)).to("cuda")})


LLAMA = {"*.self_attn": "attention", "*.mlp": "mlp", "*norm*": "norm", "*.rotary_emb": "attention"}


def llama(**more):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=H, num_hidden_layers=4, num_attention_heads=8,
                                        num_key_value_heads=4, intermediate_size=1536, use_cache=False, **more))


@case(family="LoRA", mode="bf16, frozen base, checkpointing", roles=LLAMA, heads=["*lm_head"], needs=["peft"])
def lora():
    from peft import LoraConfig, get_peft_model
    model = llama().to("cuda", torch.bfloat16)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj", "up_proj"], lora_dropout=0.1))
    train(model, text, optimizer=torch.optim.AdamW(p for p in model.parameters() if p.requires_grad))


@case(family="LoRA and prompts", mode="autocast bf16", roles=LLAMA, heads=["*lm_head"], needs=["peft"])
def dora():
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(llama(), LoraConfig(r=8, target_modules="all-linear", use_dora=True)).to("cuda")
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    watch(model, optimizer)
    for step in range(3):
        batch = text()
        with torch.autocast("cuda", torch.bfloat16):
            out = model(**batch)
        stage(f"forward-{step}", inputs="batch")
        out.loss.backward()
        stage(f"backward-{step}", inputs="batch")
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
