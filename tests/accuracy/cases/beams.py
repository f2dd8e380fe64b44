# SPDX-License-Identifier: MIT
"""Loops that make tokens, written by the program itself, and what they do to the cache between the model's calls."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn

V, H, HEADS = 16000, 512, 8
HF = {"*.self_attn": "attention", "*.rotary_emb": "attention", "*.mlp": "mlp", "*norm*": "norm"}
ROLES = {"*.look": "attention", "*.wide": "mlp"}


class Look(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(H, 3 * H), nn.Linear(H, H)

    def forward(self, x, past):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.mix(x).chunk(3, -1))
        if past is None:
            k, v = k.contiguous(), v.contiguous()
        else:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        return self.out(mixed.transpose(1, 2).flatten(2)), (k, v)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.look = nn.LayerNorm(H), nn.LayerNorm(H), Look()
        self.wide = nn.Sequential(nn.Linear(H, 4 * H), nn.GELU(), nn.Linear(4 * H, H))

    def forward(self, x, past):
        looked, past = self.look(self.first(x), past)
        x = x + looked
        return x + self.wide(self.second(x)), past


class Writer(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.words, self.blocks = nn.Embedding(V, H), nn.ModuleList(Block() for _ in range(depth))
        self.end, self.speak = nn.LayerNorm(H), nn.Linear(H, V, bias=False)

    def forward(self, ids, memory=None):
        x, kept = self.words(ids), []
        for nr, block in enumerate(self.blocks):
            x, one = block(x, memory[nr] if memory else None)
            kept.append(one)
        return self.speak(self.end(x[:, -1:])), kept

    @torch.no_grad()
    def generate(self, ids, count, copies):
        scores, memory = self(ids)
        memory = [tuple(t.unsqueeze(1).expand(-1, copies, -1, -1, -1).contiguous().flatten(0, 1) for t in pair)
                  for pair in memory]
        token = scores[:, -1].repeat_interleave(copies, 0).argmax(-1, keepdim=True)
        for step in range(count):
            scores, memory = self(token, memory)
            token = scores[:, -1].argmax(-1, keepdim=True)
            stage(f"token-{step}", inputs="ids, token", caches="memory", logits="scores")
        return token


def choose(scores, sums, width):
    """The best continuations of each row's beams: which beams go on, their next tokens, their sums."""
    sums = (sums[:, None] + scores[:, -1].float().log_softmax(-1)).view(-1, width * V)
    sums, best = sums.topk(width)
    rows = (torch.arange(len(best), device=best.device)[:, None] * width + best // V).flatten()
    return rows, (best % V).view(-1, 1), sums.flatten()


@case(family="decoder by hand", mode="bf16, beams by hand, list of pairs picked by the caller", roles=ROLES,
      heads=["speak"], functions={"choose": "logits"}, hard=True)
def beams_by_hand():
    width = 4
    model = Writer().to("cuda", torch.bfloat16).eval()
    watch(model)
    ids = torch.randint(0, V, (4, 300), device="cuda")
    stage("loaded", inputs="ids")
    with torch.inference_mode():
        scores, state = model(ids)
        stage("prompt", inputs="ids", caches="state", logits="scores")
        state = [(k.repeat_interleave(width, 0), v.repeat_interleave(width, 0)) for k, v in state]
        scores = scores.repeat_interleave(width, 0)
        sums = torch.zeros(len(scores), device="cuda")
        tokens = ids.repeat_interleave(width, 0)
        stage("spread", inputs="ids, tokens", caches="state", logits="scores, sums")
        for step in range(6):
            rows, token, sums = choose(scores, sums, width)
            state = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in state]
            tokens = torch.cat([tokens[rows], token], 1)
            stage(f"picked-{step}", inputs="ids, tokens, token, rows", caches="state", logits="scores, sums")
            scores, state = model(token, state)
            stage(f"token-{step}", inputs="ids, tokens, token, rows", caches="state", logits="scores, sums")


def pick(cache, rows):
    from transformers import DynamicCache
    return DynamicCache([(layer.keys[rows], layer.values[rows]) for layer in cache.layers])


@case(family="decoder, GQA", mode="fp16, beams by hand, cache picked by the caller", roles=HF, heads=["lm_head"],
      functions={"choose": "logits", "pick": "kv cache"})
def beams_picked():
    from transformers import LlamaConfig, LlamaForCausalLM
    width = 4
    model = LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=H, num_hidden_layers=4, num_attention_heads=8,
                                         num_key_value_heads=8, intermediate_size=1536)).to("cuda").half().eval()
    watch(model)
    ids = torch.randint(0, V, (4, 300), device="cuda").repeat_interleave(width, 0)
    sums = torch.zeros(len(ids), device="cuda")
    stage("loaded", inputs="ids", logits="sums")
    with torch.no_grad():
        out = model(ids, use_cache=True, logits_to_keep=1)
        for step in range(6):
            rows, token, sums = choose(out.logits, sums, width)
            cache = pick(out.past_key_values, rows)
            stage(f"picked-{step}", inputs="ids, token, rows", caches="[(l.keys, l.values) for l in cache.layers]",
                  logits="sums")
            out = model(token, past_key_values=cache, use_cache=True)
            stage(f"token-{step}", inputs="ids, token, rows", caches="[(l.keys, l.values) for l in cache.layers]",
                  logits="sums")


@case(family="decoder by hand", mode="bf16, generate() of its own, copies of the prompt's cache", roles=ROLES,
      heads=["speak"], hard=True)
def generate_by_hand():
    model = Writer().to("cuda", torch.bfloat16).eval()
    watch(model)
    ids = torch.randint(0, V, (4, 300), device="cuda")
    stage("loaded", inputs="ids")
    made = model.generate(ids, 5, 4)
    stage("generated", inputs="ids, made")


if __name__ == "__main__":
    main()
