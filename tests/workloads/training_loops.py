# SPDX-License-Identifier: MIT
"""The loops that people train in, each for a few iterations of a small network: what an iteration is differs."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 512


class Net(nn.Module):
    def __init__(self, outputs=WIDTH):
        super().__init__()
        self.first = nn.Linear(WIDTH, 4 * WIDTH)
        self.second = nn.Linear(4 * WIDTH, outputs)

    def forward(self, x):
        return self.second(F.gelu(self.first(x)))


def batch(size=256):
    return torch.zeros(size, WIDTH).to("cuda")


def accumulate(options):
    """Four backward passes for one optimizer step."""
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(options.iterations):
        for _ in range(4):
            (model(batch()).square().mean() / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


def adversarial(options):
    """A critic and a generator with an optimizer each, of the same class."""
    generator, critic = Net().cuda(), Net(1).cuda()
    for_generator = torch.optim.Adam(generator.parameters(), fused=options.fused)
    for_critic = torch.optim.Adam(critic.parameters(), fused=options.fused)
    for _ in range(options.iterations):
        made = generator(batch())
        for_critic.zero_grad()
        (critic(made.detach()).mean() - critic(batch()).mean()).backward()
        for_critic.step()
        for_generator.zero_grad()
        critic(made).mean().backward()
        for_generator.step()


def closure(options):
    """LBFGS calls the model as often as it likes within one step."""
    model = Net().cuda()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=2)
    x = batch()

    def loss_of():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for _ in range(options.iterations):
        optimizer.step(loss_of)


def by_hand(options):
    """Gradient descent without an optimizer object."""
    model = Net().cuda()
    for _ in range(options.iterations):
        model(batch()).square().mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
                p.grad = None


def evaluate(options):
    """Twice as much is evaluated, every second iteration, as is learned."""
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(options.iterations):
        model(batch()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if i % 2:
            model.eval()
            with torch.no_grad():
                for _ in range(3):
                    model(batch(4096)).square().mean()
            model.train()


class Fitted(Net):
    """Its loop is a method of its own, as in Keras."""

    def fit(self, iterations):
        optimizer = torch.optim.AdamW(self.parameters())
        for i in range(iterations):
            self(batch()).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if i % 2:
                self.validate()

    def validate(self):
        with torch.no_grad():
            for _ in range(3):
                self(batch(4096)).square().mean()


def fits_itself(options):
    Fitted().cuda().fit(options.iterations)


def slopes(options):
    """The loss asks for the gradients of results with respect to what was given, and for another result after that."""
    model = Net(1).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(options.iterations):
        x = batch().requires_grad_()
        made = model(x)
        slope, = torch.autograd.grad(made, x, torch.ones_like(made), create_graph=True)
        loss = slope.square().mean() + model(batch()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def returned(options):
    """The gradients are those of autograd.grad(); at first, and once more, those of backward()."""
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for nr in range(options.iterations):
        loss = model(batch()).square().mean()
        if nr % 2 == 0:
            norm, = torch.autograd.grad(loss, model.second.bias, retain_graph=True)
            loss.backward()
            norm.norm().item()
        else:
            for p, grad in zip(model.parameters(), torch.autograd.grad(loss, tuple(model.parameters()))):
                p.grad = grad
        optimizer.step()
        optimizer.zero_grad()


def requests(options):
    """No training: the model answers one request after the other."""
    model = Net().cuda().eval()
    with torch.no_grad():
        for _ in range(options.iterations):
            model(batch()).argmax(-1).tolist()


LOOPS = {f.__name__: f for f in (accumulate, adversarial, closure, by_hand, evaluate, fits_itself, slopes, returned,
                                 requests)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--fused", action="store_true")
    options = parser.parse_args()
    LOOPS[options.loop](options)


if __name__ == "__main__":
    main()
