# SPDX-License-Identifier: MIT
"""A stand-in for a serving engine, in a file where vLLM has its worker: a trial pass, then a cache of all that is left.

    trial.py REQUESTS TOKENS [counts]    prints the bytes of its cache

With "counts" its sampler keeps how often each request had each token, and copies scores to another type by copy_().
"""
import sys

import torch
from torch import nn

VOCABULARY, WIDTH, LAYERS, BUDGET = 64000, 1024, 4, 2 << 30


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 8 * WIDTH), nn.Linear(8 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return x


class Sampler:
    def __call__(self, logits):
        return (logits.float() / 0.7).softmax(-1).argmax(-1)


class Penalties:
    def __init__(self, requests):
        self.counts = torch.zeros(requests, VOCABULARY, dtype=torch.int32, device="cuda")


class CountingSampler:
    def __init__(self, requests):
        self.penalties = Penalties(requests)

    def __call__(self, logits):
        scores = torch.empty_like(logits, dtype=torch.float32).copy_(logits)
        return scores.sub_(self.penalties.counts[:len(logits)]).argmax(-1)


class Worker:
    def __init__(self, requests, tokens, is_counting):
        self.model = Model().to("cuda", torch.bfloat16)
        self.requests, self.tokens = requests, tokens
        self.sampler = CountingSampler(requests) if is_counting else Sampler()

    def sample(self, hidden):
        return self.sampler(self.model.lm_head(hidden[:self.requests]))

    def trial(self):
        torch.cuda.reset_peak_memory_stats()
        self.sample(self.model(torch.zeros(self.tokens, dtype=torch.long, device="cuda")))
        torch.cuda.empty_cache()
        return torch.cuda.max_memory_allocated()

    def make_cache(self):
        left = BUDGET - self.trial()
        blocks = left // (LAYERS * 2 * 16 * WIDTH * 2)
        for layer in self.model.layers:
            layer.kv_cache = torch.zeros(2, blocks, 16, WIDTH, dtype=torch.bfloat16, device="cuda")
        return left


if __name__ == "__main__":
    with torch.inference_mode():
        worker = Worker(int(sys.argv[1]), int(sys.argv[2]), "counts" in sys.argv)
        print(worker.make_cache(), flush=True)
        for _ in range(3):
            worker.sample(worker.model(torch.zeros(16, dtype=torch.long, device="cuda")))
