# SPDX-License-Identifier: MIT
"""Inference: caches of keys and values of all sorts, written by others and by hand."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn

V, H, B = 16000, 512, 8
HF = {"*.self_attn": "attention", "*.rotary_emb": "attention", "*.mlp": "mlp", "*norm*": "norm",
      "*.SelfAttention": "attention", "*.EncDecAttention": "attention", "*.DenseReluDense": "mlp"}


def small(config, **more):
    return config(vocab_size=V, hidden_size=H, num_hidden_layers=4, num_attention_heads=8, intermediate_size=1536,
                  **more)


def prompt(length=256):
    return torch.randint(0, V, (B, length), device="cuda")


@case(family="decoder, GQA", mode="generate(), dynamic cache", roles=HF, heads=["lm_head"])
def generate_dynamic():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(small(LlamaConfig, num_key_value_heads=8)).to("cuda").eval()
    watch(model)
    ids = prompt()
    stage("loaded", inputs="ids")
    made = model.generate(ids, max_new_tokens=12, do_sample=True, top_k=50, pad_token_id=0, eos_token_id=None)
    stage("generated", inputs="ids, made")


@case(family="decoder, GQA", mode="fp16, static cache, loop by hand", roles=HF, heads=["lm_head"])
def static_cache():
    from transformers import Qwen2Config, Qwen2ForCausalLM, StaticCache
    model = Qwen2ForCausalLM(small(Qwen2Config, num_key_value_heads=4)).to("cuda").half().eval()
    watch(model)
    cache = StaticCache(model.config, max_cache_len=1024)
    ids = prompt(128)
    with torch.inference_mode():
        for step in range(6):
            out = model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
            ids = out.logits[:, -1:].argmax(-1)
            stage(f"token-{step}", inputs="ids", caches="[(l.keys, l.values) for l in cache.layers]")


@case(family="decoder, sliding window", mode="bf16, sliding cache", roles=HF, heads=["lm_head"])
def sliding_cache():
    from transformers import MistralConfig, MistralForCausalLM
    model = MistralForCausalLM(small(MistralConfig, num_key_value_heads=8, sliding_window=128))
    model = model.to("cuda", torch.bfloat16).eval()
    watch(model)
    ids, cache = prompt(512), None
    with torch.no_grad():
        for step in range(5):
            out = model(ids, past_key_values=cache, use_cache=True)
            cache, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
            stage(f"token-{step}", inputs="ids")


@case(family="encoder and decoder", mode="generate() with beams", roles=HF, heads=["lm_head"],
      functions={"reorder_cache": "kv cache",
                 "GenerationMixin._expand_inputs_for_generation.<locals>._expand_dict_for_generation": "other"})
def generate_beams():
    from transformers import T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(vocab_size=V, d_model=H, num_layers=3, num_heads=8, d_kv=64, d_ff=1024,
                                                decoder_start_token_id=0, pad_token_id=0)).to("cuda").eval()
    watch(model)
    ids = prompt(200)
    stage("loaded", inputs="ids")
    made = model.generate(input_ids=ids, num_beams=4, max_new_tokens=8, min_new_tokens=8)
    stage("generated", inputs="ids, made")


class Shrunk:
    """Keys and values in eight bits with a scale per row, the newest in full."""

    def __init__(self):
        self.packed, self.scales, self.fresh = [], [], []

    def extend(self, k, v):
        for t in (k, v):
            scale = t.abs().amax(-1, keepdim=True) / 127
            self.packed.append((t / scale).to(torch.int8))
            self.scales.append(scale.half())

    def read(self, dtype):
        whole = [p.to(dtype) * s.to(dtype) for p, s in zip(self.packed, self.scales)]
        return torch.cat(whole[0::2], 2), torch.cat(whole[1::2], 2)


class Reader(nn.Module):
    def __init__(self, width=H, heads=8):
        super().__init__()
        self.heads, self.past = heads, Shrunk()
        self.first, self.mix, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.second = nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def remember(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.mix(x).chunk(3, -1))
        self.past.extend(k, v)
        k, v = self.past.read(x.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.remember(self.first(x))
        return x + self.wide(self.second(x))


class Storyteller(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.steps = nn.Embedding(V, H), nn.ModuleList(Reader() for _ in range(4))
        self.end, self.speak = nn.LayerNorm(H), nn.Linear(H, V, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        for step in self.steps:
            x = step(x)
        return self.speak(self.end(x[:, -1:]))


@case(family="decoder by hand", mode="bf16, quantised cache by hand", roles={"*.wide": "mlp"}, heads=["speak"],
      functions={"Reader.remember": "attention"}, hard=True)
def shrunk_cache():
    model = Storyteller().to("cuda", torch.bfloat16).eval()
    watch(model)
    ids = prompt(512)
    stage("loaded", inputs="ids")
    with torch.inference_mode():
        for step in range(6):
            ids = model(ids).argmax(-1)
            stage(f"token-{step}", inputs="ids",
                  caches="[(s.past.packed, s.past.scales) for s in model.steps]")


class Pages(nn.Module):
    """One pool of pages for all layers, as serving engines have it; a request takes pages from it."""

    def __init__(self, layers, pages, size, width):
        super().__init__()
        self.pool = torch.zeros(layers, 2, pages, size, width, device="cuda", dtype=torch.float16)
        self.table = torch.arange(pages, device="cuda")

    def write(self, layer, start, k, v):
        flat = self.pool[layer].flatten(1, 2)
        flat[0, start:start + len(k)] = k
        flat[1, start:start + len(v)] = v
        return flat[0, :start + len(k)], flat[1, :start + len(v)]


@case(family="serving by hand", mode="fp16, paged pool, no modules' forward",
      functions={"look_back": "attention", "think": "mlp", "speak": "logits", "normal": "norm"}, hard=True)
def serving():
    width, layers = 512, 3
    with torch.device("cuda"):
        weights = {name: torch.randn(shape, dtype=torch.float16) for layer in range(layers) for name, shape in
                   ((f"{layer}.qkv", (width, 3 * width)), (f"{layer}.o", (width, width)),
                    (f"{layer}.up", (width, 4 * width)), (f"{layer}.down", (4 * width, width)))}
        weights |= {"words": torch.randn(V, width, dtype=torch.float16)}
    pages = Pages(layers, 512, 16, width)

    def normal(x):
        return F.layer_norm(x, (width,))

    def look_back(x, layer, start):
        q, k, v = (x @ weights[f"{layer}.qkv"]).chunk(3, -1)
        k, v = pages.write(layer, start, k, v)
        return (torch.softmax(q @ k.T / width ** 0.5, -1) @ v) @ weights[f"{layer}.o"]

    def think(x, layer):
        return F.silu(x @ weights[f"{layer}.up"]) @ weights[f"{layer}.down"]

    def speak(x):
        return x @ weights["words"].T

    stage("loaded", weights="weights", caches="pages.pool", buffers="pages.table")
    ids, start = torch.randint(0, V, (2048,), device="cuda"), 0
    for step in range(4):
        x = weights["words"][ids]
        for layer in range(layers):
            x = x + look_back(normal(x), layer, start)
            x = x + think(normal(x), layer)
        start += len(ids)
        logits = speak(x)
        stage(f"token-{step}", weights="weights", inputs="ids", logits="logits", caches="pages.pool", activations="x")
        ids = logits[-1:].argmax(-1)


if __name__ == "__main__":
    main()
