# SPDX-License-Identifier: MIT
"""Blocks by the hundred thousand, as a long run has them: a few sizes per step, some kept for long, two streams."""
import argparse
import random

import torch

KIB, MIB = 1 << 10, 1 << 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=500000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def ask(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def step(rng, sizes, count, kept):
    """What a step holds until its backward pass, last first, beside what goes at once."""
    held = []
    for _ in range(count):
        block = ask(rng.choice(sizes))
        if rng.random() < 0.6:
            held.append(block)
        if rng.random() < 0.002:
            kept.append(block)
    while held:
        held.pop()
    if len(kept) > 400:
        del kept[rng.randrange(len(kept))]


def main():
    options = parse()
    rng = random.Random(options.seed)
    kept, side = [], torch.cuda.Stream()
    for number in range(options.blocks // 500):
        length = rng.randrange(64, 512)
        sizes = [length * unit for unit in (1, KIB, 3 * KIB, 8 * KIB, 17 * KIB + 5, 32 * KIB)] + [700, 4 * MIB]
        if number % 8 == 7:
            with torch.cuda.stream(side):
                step(rng, sizes, 500, kept)
        else:
            step(rng, sizes, 500, kept)
    print(torch.cuda.max_memory_reserved() >> 20, "MiB reserved")


if __name__ == "__main__":
    main()
