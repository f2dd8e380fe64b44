# SPDX-License-Identifier: MIT
"""Objects that answer badly when somebody looks at them, a mark while they are there, and whether anybody noticed.

Prints JSON: `touched` names the user-defined code that ran, `expected` is as in probe_names.py, `same` what the program
saw of itself.
"""
import ctypes
import gc
import json
import signal
import sys
import threading
import warnings
import weakref

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

mark = ctypes.CDLL(None).vtrace_mark
touched = []
expected = []
next_size = 20000
is_looking = False


def tensor(role, name, holder):
    global next_size
    next_size += 2000
    expected.append([next_size * 4, role, name, holder])
    return torch.zeros(next_size, device="cuda")


def touch(name):
    """Called by what the program overrides: to be heard, and to fail, only while the probe may look."""
    if is_looking:
        touched.append(name)
        raise RuntimeError(name)


class Evil(nn.Module):
    """Everything that can be overridden on the way to an attribute."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor("parameter", "weight", "main: evil"))

    def __getattr__(self, name):
        touch(f"__getattr__ {name}")
        return super().__getattr__(name)

    def __getattribute__(self, name):
        touch(f"__getattribute__ {name}")
        return super().__getattribute__(name)

    @property
    def __class__(self):
        touch("__class__")
        return Evil

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

    def __iter__(self):
        touch("__iter__")
        return iter(())


class EvilMeta(type):
    def __eq__(cls, other):
        touch("metaclass __eq__")
        return cls is other

    def __hash__(cls):
        touch("metaclass __hash__")
        return 1

    def __getattribute__(cls, name):
        touch(f"metaclass {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance):
        touch("__instancecheck__")
        return False


class EvilObject(metaclass=EvilMeta):
    def __init__(self):
        object.__setattr__(self, "held", tensor("variable", "odd.held", "probe_survives.py:main"))

    @property
    def __dict__(self):
        touch("__dict__")
        return {}

    def __getattr__(self, name):
        touch(f"object __getattr__ {name}")
        raise AttributeError(name)


class EvilDict(dict):
    def items(self):
        touch("items")
        return super().items()

    def __iter__(self):
        touch("dict __iter__")
        return super().__iter__()

    def __len__(self):
        touch("dict __len__")
        return super().__len__()

    def __bool__(self):
        touch("dict __bool__")
        return True


class EvilList(list):
    def __iter__(self):
        touch("list __iter__")
        return super().__iter__()

    def __len__(self):
        touch("list __len__")
        return super().__len__()

    def __getitem__(self, at):
        touch("list __getitem__")
        return super().__getitem__(at)


class EvilKey:
    def __hash__(self):
        touch("key __hash__")
        return 1

    def __eq__(self, other):
        touch("key __eq__")
        return self is other

    def __str__(self):
        touch("key __str__")
        return "key"


class FunctionTensor(torch.Tensor):
    """With __torch_function__, and with a tensor of its own, as quantised parameters have."""
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        touch(f"__torch_function__ {function}")
        return super().__torch_function__(function, types, args, kwargs or {})


class DispatchTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        touch(f"__torch_dispatch__ {function}")
        return NotImplemented


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        touch(f"mode {function}")
        return function(*args, **(kwargs or {}))


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor("parameter", "weight", "main: quantised"), requires_grad=False)
        state = type("QuantState", (), {})()
        state.absmax = tensor("parameter", "weight.quant_state.absmax", "main: quantised")
        self.weight.__class__ = type("Params4bit", (nn.Parameter,), {})
        self.weight.quant_state = state


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        inner, gradient = (tensor(role, "weight.inner", "main: wrapped") for role in ("parameter", "gradient"))
        weight = DispatchTensor(inner).requires_grad_()
        weight.grad = DispatchTensor(gradient[:len(inner)])
        self._parameters["weight"] = weight


def look():
    global is_looking
    is_looking = True
    mark(b"looked")
    is_looking = False


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        return nn.Linear(8, 8, device="cuda"), torch.empty(8, device="cuda")


def interrupted():
    """A signal handler of the program may raise while the probe runs; here it does, at some instruction of it."""
    class Stop(Exception):
        pass

    def stop(number, frame):
        raise Stop
    before = signal.signal(signal.SIGALRM, stop)
    many = [nn.Linear(1, 1, device="cuda") for _ in range(2000)]
    nr_stopped = 0
    for _ in range(5):
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        try:
            mark(b"interrupted")
            while True:
                pass
        except Stop as error:
            nr_stopped += 1
            assert not any(name.startswith("<vtrace") for name in traceback_files(error.__traceback__))
    signal.signal(signal.SIGALRM, before)
    assert len(many) == 2000
    return nr_stopped


def traceback_files(traceback):
    while traceback:
        yield traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next


def observed():
    """What a program can see of its own state."""
    return {
        "settrace": sys.gettrace() is not None, "setprofile": sys.getprofile() is not None, "gc": gc.isenabled(),
        "exception": sys.exc_info()[0] is not None, "recursion": sys.getrecursionlimit(),
        "modules": len(sys.modules), "warnings": len(warnings.filters), "handlers": len(threading.enumerate()),
        "grad": torch.is_grad_enabled(), "inference": torch.is_inference_mode_enabled()}


def reference_counts(objects):
    return [sys.getrefcount(thing) for thing in objects]


def watched_calls():
    """Calls that a trace and a profile function see while the probe looks."""
    seen = []

    def watch(frame, event, argument):
        seen.append(frame.f_code.co_filename)
    sys.settrace(watch)
    sys.setprofile(watch)
    mark(b"watched")
    sys.setprofile(None)
    sys.settrace(None)
    return sorted(set(name for name in seen if name != __file__))


def short_lived():
    """How much of a deleted local variable still lives: f_locals would keep it, after the probe looked at the frame."""
    model = nn.Linear(64, 64, device="cuda")
    result = weakref.ref(model), weakref.ref(model.weight)
    mark(b"short lived")
    del model
    return sum(reference() is not None for reference in result)


def main():
    gc.collect()
    gc.disable()
    evil, odd, broken = Evil(), EvilObject(), nn.Linear(4, 4)
    broken.__dict__["_parameters"] = EvilList([1])
    broken.__dict__["_buffers"] = EvilDict(buffer=tensor("buffer", "buffer", "main: broken"))
    broken.__dict__["_modules"] = None
    mapping = EvilDict(inner=tensor("variable", "mapping.inner", "probe_survives.py:main"))
    sequence = EvilList([tensor("variable", "sequence.0", "probe_survives.py:main")])
    keyed = {EvilKey(): tensor("variable", "keyed.?", "probe_survives.py:main")}
    functional = tensor("variable", "functional", "probe_survives.py:main").as_subclass(FunctionTensor)
    wrapper = DispatchTensor(tensor("variable", "wrapper.inner", "probe_survives.py:main"))
    quantised, wrapped = Quantised(), Wrapped()
    lazy = nn.LazyLinear(4, device="cuda")
    assert type(lazy.weight) is UninitializedParameter
    meta = nn.Linear(4, 4, device="meta")
    faked = fake()
    sparse = torch.eye(2, device="cpu").to_sparse()
    nonleaf = torch.zeros(1, device="cuda", requires_grad=True) * 2
    held = [evil, odd, broken, mapping, sequence, functional, wrapper, quantised, wrapped, lazy, meta, sparse, nonleaf]
    gc.collect()
    before, counts = observed(), reference_counts(held)
    allocated = torch.cuda.memory_allocated()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with Mode(), torch.inference_mode():
            look()
    garbage = gc.collect()
    after = observed()
    same = {
        "state": before == after, "references": counts == reference_counts(held),
        "memory": allocated == torch.cuda.memory_allocated(), "warned": len(warned),
        "garbage": garbage, "watched": watched_calls(), "alive": short_lived(),
        "stopped": interrupted()}
    print(json.dumps({"touched": touched, "expected": expected, "same": same}))
    return faked, keyed


main()
