# SPDX-License-Identifier: MIT
"""Many equal steps of training, then an evaluation: what repeats need not be observed."""
import sys

import torch
from torch import nn
from torch.profiler import record_function


def train(model, optimizer, nr_steps):
    for step in range(nr_steps):
        with record_function(f"step {step}"):
            x = torch.randn(32, 64, device="cuda")
            loss = nn.functional.cross_entropy(model(x), torch.zeros(32, dtype=torch.long, device="cuda"))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def evaluate(model):
    with torch.no_grad(), record_function("evaluation"):
        for _ in range(3):
            model(torch.randn(32, 64, device="cuda")).argmax(-1)


def main():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer, int(sys.argv[1]))
    evaluate(model)


main()
