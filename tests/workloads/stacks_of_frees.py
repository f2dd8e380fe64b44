# SPDX-License-Identifier: MIT
"""Makes and drops tensors at the leaves of random call trees; prints where each was dropped as JSON, by size."""
import json
import random
import sys

import torch

chance = random.Random(7)
live, stacks = [], {}


def where():
    """[function, line] of each frame, innermost first, the lines as the interpreter knows them."""
    frame, frames = sys._getframe(1), []
    while frame:
        frames.append([frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    return frames


def give():
    live.append(torch.empty(512 * (len(stacks) + len(live) + 1), dtype=torch.uint8, device="cuda"))


def take():
    tensor = live.pop(chance.randrange(len(live)))
    size = tensor.numel()
    # The last reference goes in the line that asks.
    stacks[size], tensor = where(), None


def left(depth):
    climb(depth)


def right(depth):
    if depth % 2:
        climb(depth)
    else:
        (lambda: climb(depth))()


def climb(depth):
    for _ in range(chance.randrange(1, 3)):
        if depth and chance.random() < 0.8:
            chance.choice((left, right))(depth - 1)
        elif live and chance.random() < 0.5:
            take()
        else:
            give()


def main():
    for _ in range(300):
        climb(12)
    json.dump(stacks, sys.stdout)


if __name__ == "__main__":
    main()
