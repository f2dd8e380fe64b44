# SPDX-License-Identifier: MIT
"""What is whose, by the engine's own objects: the parameters and buffers of its model, its key-value cache."""
import gc
import json

import torch

from serving import path_of_rank


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def is_a(thing, kind):
    """Unlike isinstance: asks nothing of objects that stand for another one, which may be gone."""
    return kind in type(thing).__mro__


def cache_of_module(thing):
    """As vLLM keeps it: the layers have it."""
    return tensors(getattr(thing, "kv_cache", None)) if is_a(thing, torch.nn.Module) else ()


def truth(cache_of=cache_of_module):
    """Owner -> [[address, bytes] of each storage on the device]; `cache_of` yields what is cache of one object."""
    gc.unfreeze()  # engines take what lives after start out of the collector's lists
    found = {"weights": set(), "buffers": set(), "kv cache": set()}
    for thing in gc.get_objects():
        members = {"kv cache": cache_of(thing)}
        if is_a(thing, torch.nn.Module):
            members |= {"weights": thing.parameters(recurse=False), "buffers": thing.buffers(recurse=False)}
        for owner, tensor in ((owner, tensor) for owner in members for tensor in members[owner]):
            if tensor.is_cuda:
                storage = tensor.untyped_storage()
                found[owner].add((storage.data_ptr(), storage.nbytes()))
    return {owner: sorted(places) for owner, places in found.items()}


class Extension:
    """Of the engine's worker (--worker-extension-cls oracle.Extension): the same in the process that allocates."""

    def write_truth(self, path):
        with open(path_of_rank(path, self.rank), "w") as file:
            json.dump(truth(), file)
