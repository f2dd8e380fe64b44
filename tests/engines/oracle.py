# SPDX-License-Identifier: MIT
"""What is whose, by the engine's own objects: the parameters and buffers of its model, its key-value cache."""
import gc
import json

import torch


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def truth():
    """Owner -> [[address, bytes] of each storage on the device]."""
    gc.unfreeze()  # vLLM takes what lives after start out of the collector's lists
    found = {"weights": set(), "buffers": set(), "kv cache": set()}
    for module in [o for o in gc.get_objects() if isinstance(o, torch.nn.Module)]:
        members = {"weights": module.parameters(recurse=False), "buffers": module.buffers(recurse=False),
                   "kv cache": tensors(getattr(module, "kv_cache", None))}
        for owner, tensor in ((owner, tensor) for owner in members for tensor in members[owner]):
            if tensor.is_cuda:
                storage = tensor.untyped_storage()
                found[owner].add((storage.data_ptr(), storage.nbytes()))
    return {owner: sorted(places) for owner, places in found.items()}


class Extension:
    """Of the engine's worker (--worker-extension-cls oracle.Extension): the same in the process that allocates."""

    def write_truth(self, path):
        with open(path, "w") as file:
            json.dump(truth(), file)
