# SPDX-License-Identifier: MIT
"""Wear the caching allocator out: lengths that change from step to step, two streams, large beside small, leftovers."""
import argparse
import json
import random

import torch
from torch import nn

MIB = 1 << 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--longest", type=int, default=4096, help="tokens of the longest batch")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--fraction", type=float, help="limit set by a call")
    parser.add_argument("--empty-every", type=int, default=0, help="steps between two calls of empty_cache")
    return parser.parse_args()


def prefetch(stream, rng, compute):
    """A batch copied on a separate stream, used on another."""
    with torch.cuda.stream(stream):
        batch = torch.empty(rng.randrange(1, 24 * MIB), dtype=torch.uint8, device="cuda")
        small = torch.empty(rng.randrange(1, 4096), dtype=torch.uint8, device="cuda")
    batch.record_stream(compute)
    return batch, small


def main():
    options = parse()
    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    if options.fraction:
        torch.cuda.set_per_process_memory_fraction(options.fraction)
    model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(options.width, options.width), nn.GELU())),
                          nn.Linear(options.width, 4 * options.width)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    side = [torch.cuda.Stream() for _ in range(options.streams - 1)]
    kept, ahead = [], []
    for step in range(1, options.steps + 1):
        ahead.extend(prefetch(stream, rng, torch.cuda.current_stream()) for stream in side)
        length = rng.randrange(16, options.longest)
        model(torch.empty(length, options.width, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        size = rng.choice((700, 3 * MIB, 11 * MIB + 513, 30 * MIB + 5))
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        if len(kept) > 6:
            del kept[rng.randrange(len(kept))]
        if len(ahead) > 2:
            del ahead[0]
        if options.empty_every and step % options.empty_every == 0:
            torch.cuda.empty_cache()
    print(json.dumps({"peak_reserved_bytes": torch.cuda.max_memory_reserved(),
                      "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
                      "retries": torch.cuda.memory_stats().get("num_alloc_retries", 0)}))


if __name__ == "__main__":
    main()
