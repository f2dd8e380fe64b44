# SPDX-License-Identifier: MIT
"""The observer of tests/accuracy, for loops that belong to a library: finds models, optimizers and batches itself."""
import functools
import itertools
import sys
import threading

import torch
import torch.utils.checkpoint
from brackets import Brackets, Calls
from labels import label, replay, seen_births
from observer import Observer
from tensors import tensors

UNSEEN = ("activations/other", "activation gradients", "workspace/other")  # what compiled code makes
LEAST_ROWS = 64
ALIGNED = 128
COPIES = ("to", "cuda")
MADE = ("randn", "rand", "randint", "randn_like", "rand_like", "randint_like", "arange", "randperm", "normal")


class LoopCalls(Calls):
    """Data is copied to the device, or made up there, outside of any module."""

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        result = super().__torch_function__(function, types_, args, kwargs)
        name = getattr(function, "__name__", "")
        if name in MADE or name in COPIES and args and self._is_moved(args[0], result):
            self.observer.saw_data(result)
        return result

    @staticmethod
    def _is_moved(before, after):
        with torch._C.DisableTorchFunction():
            return isinstance(after, torch.Tensor) and isinstance(before, torch.Tensor) and after.is_cuda \
                and not before.is_cuda and not after.requires_grad


class LoopBrackets(Brackets):
    def __init__(self, observer):
        super().__init__(observer)
        self.calls = LoopCalls(observer) if self.calls else None
        self.depths = threading.local()

    def install(self):
        super().install()
        original = torch.nn.Module.__call__
        observer, depths = self.observer, self.depths

        def call(module, *args, **kwargs):
            depth = getattr(depths, "now", 0)
            if depth == 0:
                observer.called(module, args, kwargs)
            depths.now = depth + 1
            try:
                return original(module, *args, **kwargs)
            finally:
                depths.now = depth

        if self.calls:
            torch.nn.Module.__call__ = call
        self._wrap_checkpoints()
        self.free_workspaces = torch._C._cuda_clearCublasWorkspaces
        # Trainers free cuBLAS's workspaces at their end; the ledger knows by that which they are.  Compiled code must.
        torch._C._cuda_clearCublasWorkspaces = (lambda: None) if self.calls else observer.ledger.clear_library

    def remove(self):
        super().remove()
        torch._C._cuda_clearCublasWorkspaces = self.free_workspaces

    def _wrap_checkpoints(self):
        """What a checkpointed part starts from."""
        observer, original = self.observer, torch.utils.checkpoint.checkpoint

        @functools.wraps(original)
        def checkpoint(function, *args, **kwargs):
            with torch._C.DisableTorchFunction():
                observer.see([args, kwargs], "checkpoint")
            return original(function, *args, **kwargs)

        torch.utils.checkpoint.checkpoint = checkpoint

    def _module_begins(self, module, args):
        super()._module_begins(module, args)
        opened = self.open[(threading.get_ident(), id(module))][-1]
        opened.update(has_grad=torch.is_grad_enabled(), id=id(module))

    def _step_begins(self, optimizer, args, kwargs):
        self.observer.steps_begin(optimizer)
        super()._step_begins(optimizer, args, kwargs)


class LoopObserver(Observer):
    def __init__(self, options):
        super().__init__(options)
        self.brackets = LoopBrackets(self)
        self.is_compiled = not options.get("hooks", True)
        self.known, self.trained = set(), set()  # modules; ids of modules that an optimizer trains

    def called(self, module, args, kwargs):
        """An outermost module."""
        with torch._C.DisableTorchFunction():
            if module not in self.known:
                self.known.add(module)
                self.watch([module])
            for tensor in tensors([args, kwargs], 4):
                if not tensor.requires_grad:
                    self.saw_data(tensor)

    def saw_data(self, thing):
        with torch._C.DisableTorchFunction():
            self.see(thing, "data")

    def steps_begin(self, optimizer):
        if optimizer not in self.optimizers:
            self.watch([optimizer])
        parameters = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for module in self.known:
            if any(id(p) in parameters for p in module.parameters()):
                self.trained.update(id(part) for part in module.modules())

    def truth(self):
        ledger, devices = self.ledger, []
        for device in ledger.devices:
            stacks = replay(self.log, device, len(ledger.births[device]))
            sightings = seen_births(self, device)
            devices.append([self.row_of(ordinal, birth, stacks[ordinal], sightings.get(ordinal, {}))
                            for ordinal, birth in enumerate(ledger.births[device])])
        return {"devices": devices, "steps": self.nr_steps()}

    def nr_steps(self):
        """Of optimizers that take turns all make one step; of one that steps within another's the outer one counts."""
        nr, depth, turn = 0, 0, set()
        for op, token, _ in self.log:
            if token["what"] == "step" and op in "+-":
                if op == "+" and depth == 0:
                    if not turn or token["id"] in turn:
                        nr, turn = nr + 1, set()
                    turn.add(token["id"])
                depth += 1 if op == "+" else -1
        return nr

    def row_of(self, ordinal, birth, stack, sightings):
        """As labels.label, then the stages of which the birth may lie in one."""
        if self.is_compiled:
            # Which owner the eager run gives is the question, not which pool it lies in.
            stack = tuple(t for t in stack if t["what"] != "capture")
        is_data, is_checkpoint = (sightings.pop(word, None) is not None for word in ("data", "checkpoint"))
        row = label(ordinal, birth, stack, sightings)
        is_outside = not any(t["what"] in ("module", "step", "backward") for t in stack)
        if is_data and is_outside and row[1] in (None, "workspace/other"):
            row[1] = "inputs"
        if self.is_of_scores(birth) and row[1] in UNSEEN:
            row[1] = "logits"
        if birth.requested in self.bytes_of_casts and row[1] == "activations/other":
            row[1] = "weights/cast"
        if is_checkpoint and (row[1] or "").startswith("activations/"):
            row[1] = "activations/checkpoint"
        return [*row, self.stages_of(stack)]

    def is_of_scores(self, birth):
        """Whole rows of scores, of a width that besides only weights and their gradients have.

        Inductor begins rows at multiples of 128 bytes, and does not fill up the last one.
        """
        width = 2 * self.options.get("vocabulary", sys.maxsize)
        if birth.requested in self.bytes_of_weights:
            return False
        rows, rest = divmod(birth.requested, width)
        if rows >= LEAST_ROWS and not rest:
            return True
        return any(rows >= LEAST_ROWS and not rest for rows, rest in
                   (divmod(birth.requested - bytes_of_row, -(-bytes_of_row // ALIGNED) * ALIGNED)
                    for bytes_of_row in (width, 2 * width)))

    @functools.cached_property
    def bytes_of_weights(self):
        groups = [group["params"] for optimizer in self.optimizers for group in optimizer.param_groups]
        return {p.nbytes for p in itertools.chain(*groups, *(model.parameters() for model in self.models))}

    @functools.cached_property
    def bytes_of_casts(self):
        """Of what autocast makes of matrices inside of compiled code; nothing else may have such a size there."""
        parameters = itertools.chain(*(model.parameters() for model in self.models))
        return {p.numel() * 2 for p in parameters if p.dim() > 1} if self.options.get("casts") else set()

    def stages_of(self, stack):
        """None where nothing says it."""
        found = None
        for token in stack:
            what = token["what"]
            if what in ("backward", "node"):
                return ["backward"]
            if what == "step":
                found = ["optimizer"]
            elif what == "call" and found and token["has_grad"]:  # a step that evaluates the model
                found = ["forward"]
            elif what == "module" and token["has_grad"]:
                return ["forward"]
            elif what == "module":
                return ["evaluation", "generation"] if token["id"] in self.trained else None
        return found
