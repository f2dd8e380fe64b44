# SPDX-License-Identifier: MIT
"""Objects of every kind that the probe finds names for, each tensor of a size of its own; prints what is what as JSON.

A mark makes the probe look; `expect` says under which role, name and holder a tensor of so many floats must be found.
"""
import collections
import ctypes
import functools
import gc
import json
import threading
import types
from dataclasses import dataclass, field

import torch
from torch import nn

mark = ctypes.CDLL(None).vtrace_mark
expected = []
next_size = 20000


def tensor(role, name, holder, **keywords):
    """A tensor of a size that no other has; two thousand floats more are another block in any case."""
    global next_size
    next_size += 2000
    expected.append([next_size * 4, role, name, holder])
    return torch.zeros(next_size, device="cuda", **keywords)



class DynamicCache:
    def __init__(self, holder):
        self.layers = [types.SimpleNamespace(), Layer(holder)]


class Layer:
    def __init__(self, holder):
        self.keys = tensor("cache", "layers.1.keys", holder)
        self.values = tensor("cache", "layers.1.values", holder)


@dataclass
class Batch:
    pixels: torch.Tensor
    labels: list = field(default_factory=list)


class Slots:
    __slots__ = ("payload", "unset")


class Block(nn.Module):
    def __init__(self, path, holder):
        super().__init__()
        self.weight = nn.Parameter(tensor("parameter", path + "weight", holder))
        self.register_buffer("table", tensor("buffer", path + "table", holder))
        self.mask = tensor("attribute", path + "mask", holder)
        self.masks = {"causal": [tensor("attribute", path + "masks.causal.0", holder)]}
        self.kv_cache = (tensor("cache", path + "kv_cache.0", holder), )

    def forward(self, x, *, scale=None, past_key_values=None):
        if scale is not None:
            mark(b"inside")
        return x[:1] * self.weight[:1]


class Model(nn.Module):
    def __init__(self, holder):
        super().__init__()
        self.blocks = nn.ModuleList([Block("blocks.0.", holder)])
        self.unregistered = [Block("", f"{holder}.unregistered.0")]

    def forward(self, x, **options):
        return self.blocks[0](x, **options)


class Trainer:
    def __init__(self):
        self.accelerator = types.SimpleNamespace()
        self.inner = Inner()

    def fit(self):
        mark(b"fit")


class Inner:
    def __init__(self):
        self.model = nn.ParameterList([nn.Parameter(tensor("parameter", "0", "main: trainer.inner.model"))])
        self.loss = tensor("variable", "trainer.inner.loss", "probe_names.py:main")
        self.states = States()
        self.states.counts = tensor("variable", "trainer.inner.states.counts", "probe_names.py:main")


class States:
    pass


def closure():
    hidden = nn.ParameterList([nn.Parameter(tensor("parameter", "0", "main: step.hidden"))])

    def step():
        return hidden
    return step


def generate():
    prefetched = tensor("variable", "loader.prefetched", "probe_names.py:main")
    yield 1
    yield prefetched


def in_thread(ready, done):
    held = tensor("variable", "held", "probe_names.py:in_thread")
    ready.set()
    done.wait()
    return held


def optimize(parameter, name):
    """An optimizer with a state that is made by its first step, of the parameter's size."""
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    bytes_of = parameter.numel() * 4
    expected.append([bytes_of, "gradient", name, "main: model"])
    expected.append([bytes_of, "optimizer", name + ".momentum_buffer", "main: optimizer"])
    return optimizer


def fail():
    lost = tensor("variable", "lost", "probe_names.py:fail")
    raise MemoryError(lost.shape)


GLOBAL = tensor("variable", "GLOBAL", "probe_names.py")


def main():
    gc.disable()
    model = Model("main: model")
    optimizer = optimize(model.blocks[0].weight, "blocks.0.weight")
    master = nn.Parameter(tensor("master", "param_groups.0.params.0", "main: masters"))
    masters = torch.optim.SGD([master], lr=0.1)
    cache = DynamicCache("main: cache")
    past_key_values = ((tensor("cache", "0.0", "main: past_key_values"),
                        tensor("cache", "0.1", "main: past_key_values")),)
    batch = {"input_ids": tensor("variable", "batch.input_ids", "probe_names.py:main")}
    data = Batch(tensor("variable", "data.pixels", "probe_names.py:main"),
                 [tensor("variable", "data.labels.0", "probe_names.py:main")])
    slots = Slots()
    slots.payload = tensor("variable", "slots.payload", "probe_names.py:main")
    replay = collections.deque([tensor("variable", "replay.0", "probe_names.py:main")])
    partial = functools.partial(len, tensor("variable", "partial.args.0", "probe_names.py:main"))
    leaf = tensor("variable", "leaf", "probe_names.py:main", requires_grad=True)
    trainer, step, loader = Trainer(), closure(), generate()
    next(loader)
    # Also three objects deep in `trainer`, which is looked at before it: the nearer name is its own.
    window = States()
    window.rows = tensor("variable", "window.rows", "probe_names.py:main")
    trainer.inner.states.window = window
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=in_thread, args=(ready, done))
    thread.start()
    ready.wait()
    trainer.fit()
    done.set()
    thread.join()
    try:
        fail()
    except MemoryError:
        mark(b"failed")
        model(tensor("input", "x", "Model.forward"), scale=tensor("input", "scale", "Model.forward"),
              past_key_values=[tensor("cache", "0", "Model.forward: past_key_values")])
    print(json.dumps(expected))
    return optimizer, masters, cache, past_key_values, batch, data, slots, replay, partial, leaf, trainer, step, \
        window


main()
