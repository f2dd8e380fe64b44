# SPDX-License-Identifier: MIT
"""Models that are asked: requests in turn with caches of prompts, layers streamed from the host."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class KVCache(nn.Module):
    def __init__(self, max_batch_size, max_seq_length, n_heads, head_dim, dtype=torch.bfloat16):
        super().__init__()
        shape = (max_batch_size, n_heads, max_seq_length, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=dtype))

    def update(self, input_pos, k_val, v_val):
        self.k_cache[:, :, input_pos] = k_val
        self.v_cache[:, :, input_pos] = v_val
        return self.k_cache, self.v_cache


class Attention(nn.Module):
    def __init__(self, dim, n_head):
        super().__init__()
        self.wqkv, self.wo = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.n_head, self.kv_cache = n_head, None

    def forward(self, x, mask, input_pos=None):
        q, k, v = (t.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for t in self.wqkv(x).chunk(3, -1))
        if self.kv_cache is not None:
            k, v = self.kv_cache.update(input_pos, k, v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1, self.w3 = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(dim, 4 * dim, bias=False)
        self.w2 = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, dim, n_head):
        super().__init__()
        self.attention, self.feed_forward = Attention(dim, n_head), FeedForward(dim)
        self.attention_norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)

    def forward(self, x, mask, pos):
        h = x + self.attention(self.attention_norm(x), mask, pos)
        return h + self.feed_forward(self.ffn_norm(h))


class GPTFast(nn.Module):
    def __init__(self, dim=512, n_layer=4, n_head=8, vocab=16000):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Block(dim, n_head) for _ in range(n_layer))
        self.norm, self.output = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.dim, self.n_head, self.causal_mask = dim, n_head, None

    def setup_caches(self, batch, length):
        for b in self.layers:
            b.attention.kv_cache = KVCache(batch, length, self.n_head, self.dim // self.n_head)
        self.causal_mask = torch.tril(torch.ones(length, length, dtype=torch.bool))

    def forward(self, idx, input_pos):
        mask = self.causal_mask[None, None, input_pos]
        x = self.tok_embeddings(idx)
        for layer in self.layers:
            x = layer(x, mask, input_pos)
        return self.output(self.norm(x))


BLOCK = {":Attention": "attention", ":FeedForward": "mlp", ":RMSNorm": "norm", ":KVCache": "kv cache"}


class Request:
    def __init__(self, prompt):
        self.prompt, self.past, self.tokens, self.done = prompt, None, [], False


class NaiveGPT(nn.Module):
    """past_key_values as a list of tuples, grown by torch.cat."""

    def __init__(self, vocab=16000, dim=512, layers=4, heads=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(2048, dim)
        self.h = nn.ModuleList(NaiveBlock(dim, heads) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids, past=None):
        start = past[0][0].shape[2] if past else 0
        x = self.wte(ids) + self.wpe(torch.arange(start, start + ids.shape[1], device=ids.device))
        presents = []
        for i, block in enumerate(self.h):
            x, present = block(x, past[i] if past else None)
            presents.append(present)
        return self.lm_head(self.ln_f(x)), presents


class NaiveBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, past):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.c_attn(self.ln_1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.c_proj(a.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x)), (k, v)


class Server:
    """Takes requests, runs a prompt alone, then decodes each; keeps prompts' caches for the next time."""

    def __init__(self, model):
        self.model, self.prompt_cache, self.running = model, {}, []

    @torch.inference_mode()
    def admit(self, name, request):
        if name in self.prompt_cache:
            request.past, logits = self.prompt_cache[name]
        else:
            logits, request.past = self.model(request.prompt)
            self.prompt_cache[name] = (request.past, logits[:, -1:].clone())
        request.tokens.append(logits[:, -1:].argmax(-1))
        self.running.append(request)

    @torch.inference_mode()
    def tick(self):
        for request in self.running:
            logits, request.past = self.model(request.tokens[-1], request.past)
            request.tokens.append(logits[:, -1:].argmax(-1))
            stage("answered", caches="[r.past for r in self.running]")


@case(family="server by hand", mode="bf16, a loop over requests, caches of prompts kept", heads=["lm_head"],
      roles={"*.mlp*": "mlp", ":NaiveBlock": "attention"})
def prompt_server():
    server = Server(NaiveGPT().cuda().bfloat16().eval())
    watch(server.model)
    for n in range(6):
        prompt = torch.randint(0, 16000, (4, 128 + 32 * (n % 3))).cuda()
        server.admit(f"prompt-{n % 3}", Request(prompt))
        for _ in range(3):
            server.tick()
        stage(f"served-{n}", inputs="[r.prompt for r in server.running], [r.tokens for r in server.running]",
              caches="[r.past for r in server.running], [c[0] for c in server.prompt_cache.values()]",
              logits="[c[1] for c in server.prompt_cache.values()]")


@case(family="layers streamed from the host", mode="bf16, each layer moved to the device when it runs",
      heads=["output"], roles=BLOCK)
def streamed_layers():
    model = GPTFast(1024, 6, 16).bfloat16().eval()
    model.tok_embeddings.cuda()
    model.norm.cuda()
    model.output.cuda()
    watch(model)
    ids, pos = torch.randint(0, 16000, (4, 256)).cuda(), torch.arange(256).cuda()
    mask = torch.tril(torch.ones(256, 256, dtype=torch.bool, device="cuda"))[None, None]
    with torch.no_grad():
        for run in range(2):
            x = model.tok_embeddings(ids)
            for i, layer in enumerate(model.layers):
                layer.to("cuda")
                watch(layer)
                x = layer(x, mask, pos)
                stage(f"layer-{run}.{i}", inputs="ids, pos, mask", activations="x")
                layer.to("cpu")
            logits = model.output(model.norm(x))
            stage(f"done-{run}", inputs="ids, pos, mask", logits="logits")


if __name__ == "__main__":
    main()
