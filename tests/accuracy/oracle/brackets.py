# SPDX-License-Identifier: MIT
"""Where a program is: modules, declared functions, calls of PyTorch's functions, steps of optimizers, captures."""
import sys
import threading
import types

import torch
from torch.nn.modules import module as hooks
from torch.optim import optimizer as steps
from torch.overrides import TorchFunctionMode

from tensors import tensors


def casts(parameters):
    """Bytes of the copies that autocast would make of these; frozen parameters are weights, other data is not."""
    if not torch.is_autocast_enabled("cuda"):
        return ()
    with torch._C.DisableTorchFunction():
        kind = torch.get_autocast_dtype("cuda")
        return tuple(p.numel() * kind.itemsize for p in parameters
                     if (p.requires_grad or isinstance(p, torch.nn.Parameter)) and p.dtype == torch.float32
                     and p.dim() > 1)


def is_one_operator(function):
    """Also a function of torch.nn.functional that hands over to the operator of its name."""
    return not isinstance(function, types.FunctionType) or hasattr(torch._C._nn, function.__name__)


class Calls(TorchFunctionMode):
    """Each call of a PyTorch function from Python; what comes of logits and is as wide as they are is logits."""

    def __init__(self, observer):
        super().__init__()
        self.observer = observer

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") in ("__get__", "__set__", "backward", "_backward", "size", "dim"):
            return function(*args, **kwargs)
        vocabulary = max((getattr(t, "_vocabulary", 0) for t in tensors([args, kwargs], 3)), default=0)
        token = self.observer.enter("call", name=getattr(function, "__name__", "?"), of_logits=vocabulary > 0,
                                    is_builtin=is_one_operator(function), has_grad=False,
                                    casts=casts(t for t in tensors([args, kwargs], 3) if t.is_leaf))
        try:
            result = function(*args, **kwargs)
        finally:
            self.observer.leave(token)
        self._look_at(result, vocabulary, token)
        return result

    def _look_at(self, result, vocabulary, token):
        with torch._C.DisableTorchFunction():
            for tensor in tensors(result, 2):
                if torch.is_grad_enabled() and tensor.requires_grad and not tensor.is_leaf:
                    token["has_grad"] = True
                if vocabulary and tensor.is_floating_point() and tensor.numel() and tensor.numel() % vocabulary == 0:
                    tensor._vocabulary = vocabulary
                    self.observer.see(tensor, "logits")


class Brackets:
    def __init__(self, observer):
        self.observer, self.open, self.handles, self.frames = observer, {}, [], {}
        self.functions = observer.options.get("functions", {})
        self.calls = Calls(observer) if observer.options.get("hooks", True) else None

    def install(self):
        self.handles = [steps.register_optimizer_step_pre_hook(self._step_begins),
                        steps.register_optimizer_step_post_hook(self._step_ends)]
        if self.observer.options.get("hooks", True):
            self.handles += [hooks.register_module_forward_pre_hook(self._module_begins),
                             hooks.register_module_forward_hook(self._module_ends, always_call=True)]
        self._wrap(torch.nn.Module, "_apply", "load")
        self._wrap_capture()
        if self.calls:
            self.calls.__enter__()
        if self.functions:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def remove(self):
        sys.setprofile(None)
        threading.setprofile(None)
        if self.calls:
            self.calls.__exit__(None, None, None)
        for handle in self.handles:
            handle.remove()

    def on_this_thread(self):
        """Threads of the autograd engine are not Python's: they are told when a node is about to run on them."""
        if self.functions and sys.getprofile() is None:
            sys.setprofile(self._profile)

    # --- modules ---

    def _module_begins(self, module, args):
        roles = self.observer.roles
        role, is_final = roles.of_module(module)
        token = self.observer.enter("module", path=roles.path_of(module), type=type(module).__name__, role=role,
                                    is_final=is_final, casts=casts(filter(None.__ne__, module._parameters.values())))
        self.open.setdefault((threading.get_ident(), id(module)), []).append(token)

    def _module_ends(self, module, args, output):
        opened = self.open.get((threading.get_ident(), id(module)))
        if not opened:
            return
        self.observer.leave(opened.pop())
        if self.observer.roles.is_head(module):
            self.observer.head(output)
        cache = getattr(output, "past_key_values", None)
        if cache is not None:
            self.observer.see(cache, "kv cache")

    # --- optimizers ---

    def _step_begins(self, optimizer, args, kwargs):
        self.open.setdefault(id(optimizer), []).append(self.observer.enter("step", id=id(optimizer)))

    def _step_ends(self, optimizer, args, kwargs):
        self.observer.leave(self.open[id(optimizer)].pop())
        self.observer.walk()

    # --- declared functions ---

    def _profile(self, frame, event, argument):
        if event not in ("call", "return"):
            return
        code = frame.f_code
        role = self.functions.get(code.co_qualname) or self.functions.get(code.co_name)
        if role is None:
            return
        if event == "call":
            self.frames.setdefault(id(frame), []).append(self.observer.enter("function", name=code.co_name, role=role))
        elif self.frames.get(id(frame)):
            self.observer.leave(self.frames[id(frame)].pop())

    # --- others ---

    def _wrap(self, owner, name, what):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            token = self.observer.enter(what)
            try:
                return original(*args, **kwargs)
            finally:
                self.observer.leave(token)

        setattr(owner, name, wrapped)

    def _wrap_capture(self):
        observer, begin, end = self.observer, torch.cuda.graph.__enter__, torch.cuda.graph.__exit__

        def enter(graph):
            begin(graph)
            graph.token = observer.enter("capture")

        def leave(graph, *error):
            observer.leave(graph.token)
            return end(graph, *error)

        torch.cuda.graph.__enter__, torch.cuda.graph.__exit__ = enter, leave
