# SPDX-License-Identifier: MIT
"""Watches a case from inside: a log of brackets on the clock of births, and a list of what was seen where.

Nothing here allocates on the device or takes a tensor's place, so that the k-th birth of this run is the k-th of the
run that is scored, where none of this is present.
"""
import sys

import torch

from brackets import Brackets
from graph import Graph
from ledger import Ledger
from roles import Roles
from tensors import storages, tensors

WORDS = {"weights": "weights", "buffers": "buffers", "gradients": "gradients", "optimizer": "optimizer",
         "caches": "kv cache", "inputs": "inputs", "logits": "logits", "user": "user", "activations": "activations",
         "activation_gradients": "activation gradients", "graph_pools": "graph pools",
         "communication": "communication"}


class Observer:
    def __init__(self, options):
        self.options = options
        self.ledger = Ledger()
        self.roles = Roles(options.get("roles", {}), options.get("heads", ()))
        self.log, self.seen = [], []
        self.models, self.optimizers, self.names = [], [], {}
        self.graph = Graph(self)
        self.brackets = Brackets(self)

    def __enter__(self):
        self.brackets.install()
        self.graph.install()

    def __exit__(self, *error):
        self.walk()
        self.brackets.remove()
        self.ledger.close()
        idle = set(self.roles.heads) - self.roles.heads_seen
        if idle and error == (None, None, None):
            raise ValueError(f"no module that ran is a head by {sorted(idle)}")

    # --- the log: ("+" | "-" | "node", token, clock, payload) ---

    def enter(self, what, **payload):
        token = payload | {"what": what}
        self.log.append(("+", token, self.ledger.now()))
        return token

    def leave(self, token, **more):
        token.update(more)
        self.log.append(("-", token, self.ledger.now()))

    def node(self, **payload):
        self.log.append(("node", payload | {"what": "node"}, self.ledger.now()))

    # --- what was seen: (owner, name, clock of the device, device, address) ---

    def see(self, thing, owner, name=""):
        with torch._C.DisableTorchFunction():
            now = self.ledger.now()
            for tensor in tensors(thing):
                for device, address in storages(tensor):
                    self.seen.append((owner, name, now[device], device, address))

    def head(self, thing):
        with torch._C.DisableTorchFunction():
            for tensor in tensors(thing):
                if tensor.dim() and tensor.is_floating_point():
                    tensor._vocabulary = tensor.shape[-1]
                    self.graph.mark_head(tensor)
                    self.see(tensor, "logits")

    # --- what the case tells ---

    def watch(self, objects):
        for thing in objects:
            if isinstance(thing, torch.nn.Module):
                self.models.append(thing)
                self.roles.add_model(thing)
            elif hasattr(thing, "param_groups") and hasattr(thing, "state"):
                self.optimizers.append(thing)
            else:
                raise TypeError(f"watch() does not know {type(thing)}")
        self.walk()

    def stage(self, name, held, frame):
        names = dict(frame.f_locals)
        if sys.version_info < (3, 13):
            frame.f_locals.clear()  # a copy that would keep every value alive; made afresh whenever it is asked for
        for word, text in held.items():
            self.see(eval(text, frame.f_globals, names), WORDS[word])
        self.walk()

    # --- walks ---

    def walk(self):
        with torch._C.DisableTorchFunction():
            for model in self.models:
                self._walk_model(model)
            for optimizer in self.optimizers:
                self._walk_optimizer(optimizer)

    def _walk_model(self, model):
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self.names.setdefault(id(parameter), name)
            self.see(parameter, "weights", name)
            if parameter.grad is not None:
                self.see(parameter.grad, "gradients", name)
        for name, buffer in model.named_buffers(remove_duplicate=False):
            self.see(buffer, "buffers", name)
        for path, module in model.named_modules():
            for attribute, value in list(vars(module).items()):
                if attribute.startswith("_") or not isinstance(value, (torch.Tensor, list, tuple, dict)):
                    continue
                for tensor in tensors(value):
                    if tensor.is_leaf and not isinstance(tensor, torch.nn.Parameter):
                        self.see(tensor, "buffers", f"{path}.{attribute}")

    def _walk_optimizer(self, optimizer):
        for group in optimizer.param_groups:
            for key, value in group.items():
                if key != "params":
                    self.see(value, "optimizer")
                    continue
                for parameter in value:
                    if id(parameter) not in self.names:
                        self.see(parameter, "optimizer")
                    if parameter.grad is not None:
                        self.see(parameter.grad, "gradients", self.names.get(id(parameter), ""))
        for parameter, state in optimizer.state.items():
            name = self.names.get(id(parameter), "")
            for key, value in state.items() if isinstance(state, dict) else [("", state)]:
                self.see(value, "optimizer", f"{name}.{key}" if name else "")
