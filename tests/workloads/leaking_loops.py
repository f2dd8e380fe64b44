# SPDX-License-Identifier: MIT
"""Training loops that leak, each in one way. A comment "leak: LOOP" marks the line that makes what is kept."""
import argparse
import copy

import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 256


class Net(nn.Module):
    def __init__(self, outputs=WIDTH):
        super().__init__()
        self.first = nn.Linear(WIDTH, 4 * WIDTH)
        self.second = nn.Linear(4 * WIDTH, outputs)

    def forward(self, x):
        return self.second(F.gelu(self.first(x)))


def batch(size=256):
    return torch.zeros(size, WIDTH).to("cuda")


def train(model, iterations):
    """A plain loop, which leaks nothing by itself: after each step the caller's turn."""
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(iterations):
        loss = model(batch()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield step, optimizer


def clean(iterations):
    for _ in train(Net().cuda(), iterations):
        pass


def losses(iterations):
    """The loss of a second batch is kept with all that its backward pass would need."""
    model = Net().cuda()
    history = []
    for _ in train(model, iterations):
        check = model(batch()).square().mean()  # leak: losses
        history.append(check)


def watch(module):
    """Nothing but the hook knows of this list."""
    captured = []

    def keep(module, arguments, output):
        captured.append(output * 1)  # leak: hook
    module.register_forward_hook(keep)


def hook(iterations):
    model = Net().cuda()
    watch(model.second)
    for _ in train(model, iterations):
        pass


class Memory:
    """One tensor that grows, in an object that an object has."""

    def __init__(self):
        self.bank = None

    def add(self, x):
        self.bank = x if self.bank is None else torch.cat([self.bank, x])  # leak: cache


def cache(iterations):
    model = Net().cuda()
    memory = Memory()
    for _ in train(model, iterations):
        with torch.no_grad():
            memory.add(model(batch(64)))


class Trainer:
    """Keeps a copy of the optimizer's state of every evaluation, and reads the last one only."""

    def __init__(self):
        self.saved = {}

    def save(self, step, optimizer):
        self.saved[step] = copy.deepcopy(optimizer.state_dict())  # leak: optimizer


def optimizer(iterations):
    model = Net().cuda()
    trainer = Trainer()
    for step, one in train(model, iterations):
        trainer.save(step, one)


ERRORS = []


def risky(model):
    hidden = model(batch(512))  # leak: traceback
    if hidden.shape[0] > 1:
        raise ValueError("no such batch")


def traceback(iterations):
    """An exception has its traceback, that its frames, and these their variables."""
    model = Net().cuda()
    for _ in train(model, iterations):
        try:
            risky(model)
        except ValueError as error:
            ERRORS.append(error)


class Bus:
    """Callbacks by topic, as frameworks have them."""
    topics = {}


def closure(iterations):
    """Each step registers a callback that has the step's output in its closure."""
    model = Net().cuda()
    for step, _ in train(model, iterations):
        def report(output=model(batch()).detach()):  # leak: closure
            return output.mean().item()
        Bus.topics.setdefault("step", []).append(report)


class Keeper:
    """Two lists, both of which grow: each tensor is in one of them."""

    def __init__(self):
        self.scores = []
        self.noise = []


def lists(iterations):
    model, keeper = Net().cuda(), Keeper()
    for _ in train(model, iterations):
        keeper.noise.append(torch.rand(512, 1024, device="cuda"))  # leak: lists
        keeper.scores.append(torch.rand(1024, 1024, device="cuda"))


def total(iterations):
    """Losses are added up with all that made them."""
    model, total = Net().cuda(), 0
    for _ in train(model, iterations):
        total += model(batch()).square().mean()  # leak: total


def renamed(iterations):
    """The list has what was called otherwise before."""
    model, history = Net().cuda(), []
    for _ in train(model, iterations):
        out = model(batch())  # leak: renamed
        history.append(out.detach())
        del out


LOOPS = {f.__name__: f for f in (clean, losses, hook, cache, optimizer, traceback, closure, lists,
                                 total, renamed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--iterations", type=int, default=16)
    options = parser.parse_args()
    LOOPS[options.loop](options.iterations)


if __name__ == "__main__":
    main()
