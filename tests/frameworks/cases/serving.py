# SPDX-License-Identifier: MIT
"""Loops of serving engines: buffers of host and device, paged caches, samplers, tensor parallelism, generate()."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from program import case, main, stage
from torch import nn

V, WIDTH, HEADS, BLOCK = 16000, 256, 8, 16


class Staged:
    """A pinned tensor of the host and what it is copied to."""

    def __init__(self, *shape, dtype):
        self.host = torch.zeros(*shape, dtype=dtype, pin_memory=True)
        self.device = torch.zeros_like(self.host, device="cuda")

    def send(self, nr):
        return self.device[:nr].copy_(self.host[:nr], non_blocking=True)


class PagedAttention(nn.Module):
    """The blocks that `pages` will hold are the engine's."""

    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.pages = torch.tensor([])

    def forward(self, x, slots, tables, nr_seen):
        q, k, v = self.qkv(x).unflatten(-1, (3 * HEADS, -1)).chunk(3, -2)
        keys, values = self.pages.unbind(0)
        keys.view(-1, *k.shape[1:])[slots] = k
        values.view(-1, *v.shape[1:])[slots] = v
        if len(tables) < len(x):
            y = F.scaled_dot_product_attention(*(t.transpose(0, 1)[None] for t in (q, k, v)), is_causal=True)
            return self.out(y[0].transpose(0, 1).flatten(1))
        k, v = (part[tables].flatten(1, 2)[:, :nr_seen].transpose(1, 2) for part in (keys, values))
        y = F.scaled_dot_product_attention(q[:, :, None], k, v)
        return self.out(y[:, :, 0].flatten(1))


class Feed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both, self.down = nn.Linear(width, 6 * width, bias=False), nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        gate, up = self.both(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attend, self.feed = PagedAttention(width), Feed(width)

    def forward(self, x, *where):
        x = x + self.attend(self.norm1(x), *where)
        return x + self.feed(self.norm2(x))


class Model(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.words, self.layers = nn.Embedding(V, WIDTH), nn.ModuleList(Layer(WIDTH) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, V, bias=False)

    def forward(self, ids, *where):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, *where)
        return self.norm(x)

    def compute_logits(self, x):
        return self.head(x)


class Runner:
    """Requests of equal length, one prompt after the other, then all a token at a time."""

    def __init__(self, model, nr_requests, nr_blocks, most_tokens=4096):
        self.model, self.nr_requests = model, nr_requests
        self.ids = Staged(most_tokens, dtype=torch.int64)
        self.slots = Staged(most_tokens, dtype=torch.int64)
        self.tables = Staged(nr_requests, 64, dtype=torch.int64)
        self.embeds = Staged(most_tokens, WIDTH, dtype=torch.float32)
        self.temperature = Staged(nr_requests, dtype=torch.float32)
        self.temperature.host.fill_(0.7)
        for layer in model.layers:
            layer.attend.pages = torch.zeros(2, nr_blocks, BLOCK, HEADS, WIDTH // HEADS, device="cuda",
                                             dtype=torch.bfloat16)
        stage("ready", inputs="[vars(s)['device'] for s in vars(self).values() if hasattr(s, 'device')]",
              caches="[layer.attend.pages for layer in model.layers]")

    def sample(self, logits):
        logits = logits.float()
        logits = logits / self.temperature.send(self.nr_requests)[:len(logits), None]
        ordered, order = logits.sort(-1)
        hidden = ordered.softmax(-1).cumsum(-1) <= 0.1
        probabilities = logits.masked_fill(hidden.scatter(1, order, hidden), -1e9).softmax(-1)
        chosen = torch.empty_like(probabilities).exponential_()
        return probabilities.div(chosen).argmax(-1)

    @torch.inference_mode()
    def run(self, prompt=160, nr_new=12):
        for request in range(self.nr_requests):
            self.slots.host[:prompt] = torch.arange(prompt) + request * 16 * BLOCK
            x = self.model(self.ids.send(prompt), self.slots.send(prompt), self.tables.send(1), prompt)
            self.sample(self.model.compute_logits(x[-1:]))
        for nr in range(prompt, prompt + nr_new):
            self.slots.host[:self.nr_requests] = torch.arange(self.nr_requests) * 16 * BLOCK + nr
            self.tables.host[:] = torch.arange(64)
            x = self.model(self.ids.send(self.nr_requests), self.slots.send(self.nr_requests),
                           self.tables.send(self.nr_requests), nr + 1)
            self.ids.device[:self.nr_requests] = self.sample(self.model.compute_logits(x))


@case(family="engine by hand", mode="paged cache, staging buffers, sampler", heads=["head"],
      roles={":PagedAttention": "attention", ":Feed": "mlp"}, functions={"Runner.sample": "logits"},
      stages=("generation",))
def engine():
    Runner(Model().cuda().bfloat16().eval(), 16, 512).run()


@case(family="transformers", mode="generate(), dynamic cache, sampled", heads=["lm_head"], stages=("generation",),
      roles={"*.self_attn": "attention", "*.mlp": "mlp", "*norm*": "norm"})
def generates():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=V, hidden_size=WIDTH, num_hidden_layers=3, num_attention_heads=8,
                                         num_key_value_heads=4, intermediate_size=768)).cuda().bfloat16().eval()
    ids = torch.randint(3, V, (16, 100)).cuda()
    for _ in range(2):
        model.generate(ids, max_new_tokens=16, min_new_tokens=16, do_sample=True, top_p=0.9, top_k=0, eos_token_id=1,
                       pad_token_id=0)


class WordHead(nn.Module):
    """A head of an engine: its part of the vocabulary, no nn.Linear."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(V, WIDTH))

    def forward(self, x):
        return F.linear(x, self.weight)


class Scores(nn.Module):
    def forward(self, head, x):
        return head(x) * 0.5


class Sampler(nn.Module):
    """Temperature, penalties, nucleus, and the likeliest words beside the choice."""

    def forward(self, logits, counts, temperature):
        logits = logits.to(torch.float32)
        likely = logits.log_softmax(-1, dtype=torch.float32)
        logits = self.penalised(logits, counts) / temperature[:, None]
        ordered, order = logits.sort(dim=-1, descending=False)
        sums = torch.cumsum(ordered.softmax(-1), -1)
        ordered = ordered.masked_fill(sums <= 0.1, -float("inf"))
        logits = ordered.scatter(-1, order, ordered)
        chances = logits.softmax(-1, dtype=torch.float32)
        chosen = chances.div(torch.empty_like(chances).exponential_(1)).argmax(-1)
        return chosen, torch.topk(likely, 5, dim=-1)

    def penalised(self, logits, counts):
        return torch.where(counts > 0, logits / 1.1, logits)


class Served(Model):
    def __init__(self):
        super().__init__()
        self.head, self.scores = WordHead(), Scores()

    def compute_logits(self, x):
        return self.scores(self.head, x)


class Worker:
    """One pool for all layers, cut into blocks, and the tensors of a step made once."""

    def __init__(self, model, nr_requests, nr_blocks=768):
        self.model, self.sampler, self.nr = model, Sampler(), nr_requests
        self.step = {name: Staged(2048, dtype=torch.int64) for name in ("ids", "slots")}
        self.counts = torch.zeros(nr_requests, V, dtype=torch.int64, device="cuda")
        self.temperature = torch.full((nr_requests,), 0.8, device="cuda")
        pool = torch.zeros(len(model.layers), 2, nr_blocks, BLOCK, HEADS, WIDTH // HEADS, dtype=torch.bfloat16,
                           device="cuda")
        for layer, pages in zip(model.layers, pool):
            layer.attend.pages = pages
        stage("ready", inputs="[s.device for s in self.step.values()], self.counts", caches="pool")

    @torch.no_grad()
    def serve(self, nr_new=10, prompt=128):
        tables = torch.zeros(self.nr, 64, dtype=torch.int64, device="cuda")
        stage("tables", inputs="tables")
        for nr in range(nr_new):
            first = nr == 0
            rows = self.nr * prompt if first else self.nr
            for staged in self.step.values():
                staged.host[:rows] = torch.arange(rows) % 1000
            x = self.model(self.step["ids"].send(rows), self.step["slots"].send(rows), tables[:1] if first else tables,
                           prompt + nr)
            stage("returned", user="x")
            logits = self.model.compute_logits(x[-self.nr:])
            chosen, _ = self.sampler(logits, self.counts, self.temperature)
            self.step["ids"].device[:self.nr] = chosen


@case(family="engine by hand", mode="one paged pool, sampler and head as modules", heads=[":Scores"],
      roles={":PagedAttention": "attention", ":Feed": "mlp", ":Sampler": "logits"}, stages=("forward",))
def engine_of_modules():
    Worker(Served().cuda().bfloat16().eval(), 16).serve()


class Sharded(nn.Module):
    """Rows of one linear layer on each rank; the ranks' products are summed."""

    def __init__(self, columns, rows, nr_ranks):
        super().__init__()
        self.inner = nn.Linear(columns // nr_ranks, rows, bias=False)

    def forward(self, x):
        y = self.inner(x)
        dist.all_reduce(y)
        return y


class SplitHead(nn.Module):
    """A part of the vocabulary on each rank; the scores are gathered."""

    def __init__(self, width, nr_ranks):
        super().__init__()
        self.inner, self.nr_ranks = nn.Linear(width, V // nr_ranks, bias=False), nr_ranks

    def forward(self, x):
        return self.all_gather(self.inner(x))

    def all_gather(self, part):
        whole = torch.empty(self.nr_ranks, *part.shape, dtype=part.dtype, device=part.device)
        dist.all_gather_into_tensor(whole, part)
        return whole


@case(family="engine by hand", mode="tensor parallel with two ranks, static cache", heads=["head.inner"],
      roles={":Attend": "attention", ":Feed": "mlp"}, functions={"SplitHead.all_gather": "communication"},
      stages=("generation",), ranks=2, device="h100-80g,count=2")
def engine_of_two():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

    class Attend(nn.Module):
        def __init__(self, rows, most):
            super().__init__()
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH // 2, bias=False), Sharded(WIDTH, WIDTH, 2)
            self.register_buffer("k_cache", torch.zeros(rows, HEADS // 2, most, WIDTH // HEADS), persistent=False)
            self.register_buffer("v_cache", torch.zeros(rows, HEADS // 2, most, WIDTH // HEADS), persistent=False)

        def forward(self, x, at):
            q, k, v = self.qkv(x).unflatten(-1, (3 * HEADS // 2, -1)).transpose(1, 2).chunk(3, 1)
            self.k_cache.index_copy_(2, at, k)
            self.v_cache.index_copy_(2, at, v)
            seen = int(at.numel()) if len(at) > 1 else self.k_cache.shape[2]
            y = F.scaled_dot_product_attention(q, self.k_cache[:, :, :seen], self.v_cache[:, :, :seen])
            return self.out(y.transpose(1, 2).flatten(2))

    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
            self.attend = Attend(16, 160)
            self.feed = Feed(WIDTH)
            self.feed.both, self.feed.down = nn.Linear(WIDTH, 3 * WIDTH, bias=False), Sharded(3 * WIDTH, WIDTH, 2)

        def forward(self, x, at):
            x = x + self.attend(self.norm1(x), at)
            return x + self.feed(self.norm2(x))

    class Whole(Model):
        def __init__(self):
            super().__init__(0)
            self.layers, self.head = nn.ModuleList(Split() for _ in range(3)), SplitHead(WIDTH, 2)

    model = Whole().cuda().bfloat16().eval()
    ids = torch.randint(0, V, (16, 128)).cuda()
    stage("ready", inputs="ids", caches="[(s.attend.k_cache, s.attend.v_cache) for s in model.layers]")
    with torch.inference_mode():
        at = torch.arange(128, device="cuda")
        for nr in range(12):
            scores = model.compute_logits(model(ids, at)[:, -1])
            ids = scores.transpose(0, 1).flatten(1).argmax(-1)[:, None]
            at = torch.tensor([128 + nr], device="cuda")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
