# SPDX-License-Identifier: MIT
"""From anything a program may hold to the storages behind it."""
import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

DEPTH = 6  # of objects within objects


def tensors(thing, depth=DEPTH):
    if isinstance(thing, torch.Tensor):
        yield thing
    elif depth == 0 or isinstance(thing, (nn.Module, torch.optim.Optimizer, type, str, bytes, int, float)):
        return
    elif isinstance(thing, dict):
        for value in list(thing.values()):
            yield from tensors(value, depth - 1)
    elif isinstance(thing, (list, tuple, set)) or type(thing).__name__ in ("deque", "dict_values"):
        for value in list(thing):
            yield from tensors(value, depth - 1)
    elif hasattr(thing, "__dict__") and not callable(thing):
        for value in list(vars(thing).values()):
            yield from tensors(value, depth - 1)


def storages(tensor):
    """(device, address) of each storage on a device; several for wrappers of several tensors."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    if hasattr(tensor, "_local_tensor"):
        yield from storages(tensor._local_tensor)
    elif is_traceable_wrapper_subclass(tensor):
        for name in tensor.__tensor_flatten__()[0]:
            yield from storages(getattr(tensor, name))
    elif tensor.layout != torch.strided:
        if tensor.layout == torch.sparse_coo:
            yield from storages(tensor._indices())
            yield from storages(tensor._values())
    elif tensor.is_cuda:
        storage = tensor.untyped_storage()
        if storage.nbytes():
            yield tensor.device.index, storage.data_ptr()
