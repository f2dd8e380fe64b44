# SPDX-License-Identifier: MIT
"""Training that piles up tensors in objects that answer badly when somebody looks at them, and whether anybody noticed.

Prints JSON: `touched` names the user-defined code that ran, `same` is what the program saw of itself.
"""
import gc
import json
import sys
import weakref

import torch
from torch import nn

touched = []
is_watching = False


def touch(name):
    """Called by what the program overrides: to be heard, and to fail, only while the probe may look."""
    if is_watching:
        touched.append(name)
        raise RuntimeError(name)


class Meta(type):
    def __hash__(cls):
        touch("hash of a class")
        return 1

    def __eq__(cls, other):
        touch("== of a class")
        return cls is other


class Evil(metaclass=Meta):
    __slots__ = ("kept", "__weakref__")

    def __init__(self, kept):
        self.kept = kept

    def __getattribute__(self, name):
        touch(f"__getattribute__ {name}")
        return object.__getattribute__(self, name)

    def __eq__(self, other):
        touch("__eq__")
        return self is other

    def __hash__(self):
        touch("__hash__")
        return 1

    def __bool__(self):
        touch("__bool__")
        return True

    def __len__(self):
        touch("__len__")
        return 1

    def __del__(self):
        touch("__del__")


class EvilDict(dict):
    def items(self):
        touch("items")
        return super().items()

    def __iter__(self):
        touch("__iter__")
        return super().__iter__()


class EvilTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        touch(f"__torch_function__ {function}")
        return super().__torch_function__(function, types, arguments, keywords or {})


class Holder:
    """Closures, a cycle, a generator, an exception: by each way some."""

    def __init__(self):
        self.ways = []

    def keep(self, tensor):
        def closure():
            return tensor

        def generator(value):
            yield value

        waiting = generator(tensor)
        next(waiting)
        cycle = [tensor]
        cycle.append(cycle)
        self.ways += [Evil(tensor), EvilDict(one=tensor), closure, waiting, cycle, {"two": (tensor,)}]
        try:
            raise ValueError(tensor)
        except ValueError as error:
            self.ways.append(error)


def counts(tensors):
    return [sys.getrefcount(tensor) for tensor in tensors]


def main():
    global is_watching
    model, holder = nn.Linear(64, 64).cuda(), Holder()
    optimizer = torch.optim.SGD(model.parameters())
    tensors, before, after = [], [], []
    sys.modules["odd"] = Evil(None)
    gc.collect()
    gc.disable()
    for step in range(16):
        model(torch.zeros(8, 64, device="cuda")).sum().backward()
        tensors.append(torch.zeros(4096, device="cuda"))
        tensors.append(torch.zeros(8192, device="cuda").as_subclass(EvilTensor))
        holder.keep(tensors[-2])
        holder.keep(tensors[-1])
        before = counts(tensors)
        is_watching = True
        optimizer.step()
        for _ in range(1000):  # a safe point
            pass
        is_watching = False
        after = counts(tensors)
        assert after == before, (step, before, after)
    del sys.modules["odd"]
    noticed = list(touched)
    seen = weakref.ref(holder.ways[2])
    garbage = gc.collect()
    del holder, tensors[:]
    gc.collect()
    print(json.dumps({"touched": noticed, "same": {"garbage": garbage, "alive": seen() is not None,
                                                   "memory": torch.cuda.memory_allocated()}}))


if __name__ == "__main__":
    main()
