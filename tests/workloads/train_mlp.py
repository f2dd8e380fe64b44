# SPDX-License-Identifier: MIT
"""Train a small multi-layer perceptron on random data."""
import argparse

import torch
from torch import nn


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=1024)
    return parser.parse_args()


def main():
    options = parse()
    device = torch.device("cuda")
    model = nn.Sequential(
        nn.Linear(784, options.width),
        nn.ReLU(),
        nn.Linear(options.width, options.width),
        nn.ReLU(),
        nn.Linear(options.width, 10),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(1, options.steps + 1):
        images = torch.randn(options.batch, 784, device=device)
        labels = torch.randint(10, (options.batch,), device=device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")
    print(f"peak {torch.cuda.max_memory_allocated()} bytes")


if __name__ == "__main__":
    main()
