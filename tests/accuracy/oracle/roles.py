# SPDX-License-Identifier: MIT
"""What a module or a function is for: by what the case declares, then by PyTorch's own classes."""
import fnmatch

from torch import nn
from torch.nn.modules.batchnorm import _NormBase

KINDS = ("attention", "mlp", "norm", "residual", "embedding", "conv", "mixer", "mask", "checkpoint", "other")
NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm)
GENERIC = ((nn.MultiheadAttention, "attention"), (nn.Embedding, "embedding"), (nn.EmbeddingBag, "embedding"),
           (nn.modules.conv._ConvNd, "conv"), (nn.RNNBase, "mixer"), (nn.RNNCellBase, "mixer"))


class Roles:
    def __init__(self, roles, heads):
        self.roles, self.heads, self.paths, self.heads_seen = dict(roles), list(heads), {}, set()

    def add_model(self, model):
        for path, module in model.named_modules():
            self.paths.setdefault(id(module), path)

    def path_of(self, module):
        return self.paths.get(id(module), "")

    def matches(self, module, pattern):
        if pattern.startswith(":"):
            return fnmatch.fnmatchcase(type(module).__name__, pattern[1:])
        return id(module) in self.paths and fnmatch.fnmatchcase(self.paths[id(module)], pattern)

    def declared(self, module):
        return next((role for pattern, role in self.roles.items() if self.matches(module, pattern)), None)

    def is_head(self, module):
        found = {pattern for pattern in self.heads if self.matches(module, pattern)}
        self.heads_seen |= found
        return bool(found)

    def generic(self, module):
        if isinstance(module, NORMS):
            return "norm"
        return next((role for kind, role in GENERIC if isinstance(module, kind)), None)

    def of_module(self, module):
        """(role, is it final whatever stands around the module): a norm inside an attention is a norm."""
        declared = self.declared(module)
        if declared:
            return declared, True
        generic = self.generic(module)
        return generic, generic == "norm"


def owner(role):
    return "activations/" + role if role in KINDS else role
