# SPDX-License-Identifier: MIT
"""Backward passes of every kind, and the truth about their nodes: which module's forward call made each of them.

Prints one JSON object: for every part, thread by thread, the numbers that autograd gave during the calls of each
module; modules are named by the address of their object.
"""
import ctypes
import json
import threading

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

mark = ctypes.CDLL(None).vtrace_mark
facts = {}


def last_number():
    """The number of a node made here: all numbers of this thread below have been given."""
    return torch.zeros(1, requires_grad=True).view(1).grad_fn._sequence_nr()


class Watch:
    """Notes between which numbers each module was called, innermost modules first."""

    def __init__(self, *roots):
        self.calls = []
        self.open = {}
        for module in {m for root in roots for m in root.modules()}:
            module.register_forward_pre_hook(self.enter)
            module.register_forward_hook(self.leave)

    def enter(self, module, _):
        if torch.is_grad_enabled():
            self.open[id(module), threading.get_ident()] = last_number()

    def leave(self, module, *_):
        thread = threading.get_ident()
        if torch.is_grad_enabled():
            self.calls.append((id(module), type(module).__name__, thread, self.open.pop((id(module), thread)),
                               last_number()))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2), -1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Transformer(nn.Module):
    def __init__(self, words=512, width=64):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens, wrap=lambda block, x: block(x)):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = wrap(block, x)
        return self.head(self.norm(x))


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Custom(nn.Module):
    def forward(self, x):
        return Twice.apply(x)


def tokens():
    return torch.randint(0, 512, (4, 32), device="cuda")


def backward(name, loss, **keywords):
    mark(name.encode())
    loss.backward(**keywords)
    torch.cuda.synchronize()
    mark(f"{name} done".encode())


def train(name, wrap=None):
    model = Transformer().cuda()
    watch = Watch(model)
    output = model(tokens()) if wrap is None else model(tokens(), wrap)
    backward(name, output.logsumexp(-1).sum())
    facts[name] = watch.calls


def twice_through_one_graph():
    model = Transformer().cuda()
    watch = Watch(model)
    loss = model(tokens()).logsumexp(-1).sum()
    backward("first", loss, retain_graph=True)
    backward("second", loss)
    facts["first"] = facts["second"] = watch.calls


def gradient_penalty():
    """The second pass runs nodes that the first one made, on a thread without Python."""
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 1)).cuda()
    watch = Watch(model)
    x = torch.randn(32, 64, device="cuda", requires_grad=True)
    gradient, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    backward("penalty", gradient.square().sum())
    facts["penalty"] = watch.calls


def two_threads():
    """Both threads give the same numbers."""
    models = [nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, 64)).cuda() for width in (128, 1024)]
    watch = Watch(*models)
    x = torch.randn(32, 64, device="cuda")
    losses = [None, None]

    def forward(i):
        losses[i] = models[i](x).square().sum()

    for i in range(2):
        thread = threading.Thread(target=forward, args=(i,))
        thread.start()
        thread.join()
    backward("threads", losses[0] + losses[1])
    facts["threads"] = watch.calls
    facts["widths"] = {128: id(models[0]), 1024: id(models[1])}


def custom_function():
    model = nn.Sequential(nn.Linear(64, 64), Custom(), nn.Linear(64, 64)).cuda()
    watch = Watch(model)
    backward("custom", model(torch.randn(32, 64, device="cuda")).square().sum())
    facts["custom"] = watch.calls


def main():
    torch.empty(1, device="cuda")
    train("plain")
    twice_through_one_graph()
    train("reentrant", lambda block, x: checkpoint(block, x, use_reentrant=True))
    train("not reentrant", lambda block, x: checkpoint(block, x, use_reentrant=False))
    gradient_penalty()
    two_threads()
    custom_function()
    facts["main thread"] = threading.get_ident()
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
