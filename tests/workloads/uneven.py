# SPDX-License-Identifier: MIT
"""Layers of unlike widths in training: which of them to checkpoint is a question."""
import argparse
import json

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.layers = nn.ModuleList(Layer(options.width, inner) for inner in options.inner)
        self.head = nn.Linear(options.width, options.outputs)
        self.checkpointed = options.checkpointed

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = checkpoint(layer, x, use_reentrant=False) if f"layers.{number}" in self.checkpointed else layer(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--inner", type=lambda text: [int(word) for word in text.split(",")], default=[1024, 4096])
    parser.add_argument("--outputs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--checkpointed", type=lambda text: text.split(","), default=[], help="layers.1,layers.3")
    options = parser.parse_args()
    model = Net(options).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    for _ in range(3):
        x = torch.zeros(options.rows, options.width, device="cuda")
        targets = torch.zeros(options.rows, dtype=torch.int64, device="cuda")
        loss = nn.functional.cross_entropy(model(x), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del x, targets, loss
    print(json.dumps({"peak_allocated_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
