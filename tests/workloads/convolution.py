# SPDX-License-Identifier: MIT
"""Train a small convolutional network with batch normalisation."""
import torch
from torch import nn


def main():
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    ).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 4):
        images = torch.randn(16, 3, 64, 64).to("cuda")
        labels = torch.randint(10, (16,)).to("cuda")
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f} peak {torch.cuda.max_memory_allocated()} bytes")


if __name__ == "__main__":
    main()
