# SPDX-License-Identifier: MIT
"""Control values: the small integers and booleans that a program on the simulator decides by.

The simulator's kernels compute nothing, so a decoding loop that asks a device tensor whether it is done would never
end.  While gradients are off, every operator runs as usual (allocations stay what they are); where its device
inputs are small integers or booleans, it is then run once more on the host over the same memory, which is plain host
memory here.  Small integers that come from floating-point data (argmax of logits) cannot be known: they become 0.

Loaded by libvtrace-simulator.so into the client's interpreter; its frames are named <vtrace-simulator>.
"""
import ctypes
import os
import sys
import threading
import warnings

# Bytes of one tensor up to which the host recomputes: masks and token ids of a batch, not data.
LIMIT = 64 * 1024
# The same where experts are routed: a mask of experts has a number for each token and expert.
ROUTED_LIMIT = 256 * 1024 * 1024
# A choice among more columns chooses tokens of a vocabulary.
MOST_EXPERTS = 1024

_EXACT = set()  # the integer and boolean dtypes, filled by install()

# What install() decided about an operator, by its schema.
_PLAIN, _IGNORE, _UNKNOWN = range(3)


def choices(torch, routing, shape, nr_experts):
    """Which experts each token goes to: as many to each ("balanced"), or to one so many times the mean ("skew:4")."""
    k = shape[-1]
    tokens = shape.numel() // k
    if routing == "balanced":
        return (torch.arange(tokens * k, device="cpu") % nr_experts).view(shape)
    most = min(tokens, round(float(routing.partition(":")[2]) * tokens * k / nr_experts))
    chosen = torch.zeros(tokens, k, dtype=torch.int64, device="cpu")
    is_other = torch.ones(tokens, k, dtype=torch.bool, device="cpu")
    is_other[:most, 0] = False
    chosen[is_other] = 1 + torch.arange(int(is_other.sum()), device="cpu") % (nr_experts - 1)
    return chosen.view(shape)


def install(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    Tensor = torch.Tensor
    empty = torch.empty
    _EXACT.update((torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))
    plans = {}
    state = threading.local()
    switched_off = []
    routing = os.environ.get("VTRACE_SIM_ROUTING")
    limit = ROUTED_LIMIT if routing else LIMIT

    def plan_of(func):
        """Views and uninitialised memory need nothing; random numbers are unknown by nature."""
        schema = func._schema
        name = schema.name.partition("::")[2]
        if name.startswith(("empty", "new_empty", "_local_scalar", "resize_", "set_", "record_stream")):
            return _IGNORE
        if any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns):
            return _IGNORE
        if torch.Tag.nondeterministic_seeded in func.tags:
            return _UNKNOWN
        return _PLAIN

    def extent(tensor):
        """Bytes from the first to the last element."""
        last = 0
        for size, stride in zip(tensor.shape, tensor.stride()):
            if size == 0:
                return 0
            last += (size - 1) * stride
        return (last + 1) * tensor.element_size()

    def is_small(tensor):
        return tensor.dtype in _EXACT and tensor.layout is torch.strided and extent(tensor) <= limit

    def on_host(tensor):
        """A host tensor over the memory of a device tensor."""
        nbytes = extent(tensor)
        if nbytes == 0:
            return empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        memory = (ctypes.c_char * nbytes).from_address(tensor.data_ptr())
        flat = torch.frombuffer(memory, dtype=tensor.dtype)
        return flat.as_strided(tensor.shape, tensor.stride())

    def host_arguments(value):
        """The same arguments with device tensors over host memory; raises LookupError on one that is not small."""
        if isinstance(value, Tensor):
            if not value.is_cuda:
                return value
            if not is_small(value):
                raise LookupError
            return on_host(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(host_arguments, value))
        if isinstance(value, torch.device):
            return torch.device("cpu")
        return value

    def host_keywords(kwargs):
        return {k: host_arguments(v) for k, v in kwargs.items() if k not in ("pin_memory", "generator")}

    def store(result, value):
        """Writes one recomputed output; a data-dependent shape that came out wrong gets memory of its own."""
        if not (isinstance(result, Tensor) and result.is_cuda and isinstance(value, Tensor)):
            return result
        if not is_small(result):
            return result
        if result.shape != value.shape:
            result = empty(value.shape, dtype=result.dtype, device=result.device)
        on_host(result).copy_(value)
        return result

    def is_of_interest(result, args):
        """Whether an output, or the tensor that an in-place operator changes, is small and exact."""
        if isinstance(result, Tensor):
            return result.is_cuda and is_small(result)
        if isinstance(result, (list, tuple)):
            return any(isinstance(r, Tensor) and r.is_cuda and is_small(r) for r in result)
        if result is None and args:
            return is_of_interest(args[0], ())
        return False

    def recompute(func, args, kwargs, result):
        try:
            values = func(*host_arguments(args), **host_keywords(kwargs))
        except LookupError:
            values = None
        if func._schema.is_mutable:
            # Computed in place, over the same memory; the unknown stays what it was.
            return result
        if isinstance(result, Tensor):
            return store(result, torch.zeros(result.shape, dtype=result.dtype) if values is None else values)
        if isinstance(result, (list, tuple)):
            if values is None:
                values = [torch.zeros(r.shape, dtype=r.dtype) if isinstance(r, Tensor) else r for r in result]
            return type(result)(map(store, result, values))
        return result

    def is_router(func, scores, k=1, dim=-1, *_, **__):
        """A choice of a few of a row of scores: of experts, for each token."""
        return (func is torch.ops.aten.topk.default and scores.is_cuda and scores.is_floating_point()
                and scores.dim() >= 2 and dim in (-1, scores.dim() - 1) and scores.shape[-1] <= MOST_EXPERTS
                and k < scores.shape[-1])

    class ControlValues(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            result = func._op(*args, **kwargs)
            if routing and is_router(func, *args, **kwargs):
                chosen = result[1]
                on_host(chosen).copy_(choices(torch, routing, chosen.shape, args[0].shape[-1]))
                return result
            plan = plans.get(func)
            if plan is None:
                plan = plans[func] = plan_of(func)
            if plan == _IGNORE or not is_of_interest(result, args):
                return result
            try:
                if plan == _UNKNOWN:
                    return store(result, torch.zeros(result.shape, dtype=result.dtype))
                return recompute(func, args, kwargs, result)
            except Exception:
                # What the host cannot recompute stays unknown, like every other value here.
                return result

    def is_wanted(caller):
        """Only the program's own no-grad regions: PyTorch's (optimizers, checkpointing) decide nothing."""
        if switched_off or getattr(state, "depth", 0):
            return False
        module = caller.f_globals.get("__name__", "")
        if module == "torch.utils._contextlib":
            module = getattr(caller.f_locals.get("func"), "__module__", "") or ""
        return not (module == "torch" or module.startswith("torch."))

    def follow(region):
        """Enters the mode with a region of torch.no_grad or torch.inference_mode and leaves it with it."""
        enter, leave = region.__enter__, region.__exit__

        def __enter__(self):
            result = enter(self)
            mode = ControlValues() if is_wanted(sys._getframe(1)) else None
            self.__dict__.setdefault("_vtrace_modes", []).append(mode)
            if mode is not None:
                state.depth = 1
                mode.__enter__()
            return result

        def __exit__(self, *exception):
            modes = self.__dict__.get("_vtrace_modes")
            mode = modes.pop() if modes else None
            if mode is not None:
                mode.__exit__(*exception)
                state.depth = 0
            return leave(self, *exception)

        # TorchScript reads the source of both (torch.distributed.optim scripts functions that use them).
        __enter__.__wrapped__, __exit__.__wrapped__ = enter, leave
        region.__enter__, region.__exit__ = __enter__, __exit__

    def fill(self, value):
        """Data is not computed, with or without a kernel."""
        if is_small(self):
            on_host(self).fill_(value)
        return self

    def keep_constants():
        """What needs no mode: an engine that asks how many tokens it sampled reads back the ones that it wrote."""
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "Overriding a previously registered kernel": that is the purpose.
            library.impl("fill_.Scalar", fill, "CUDA")
        switched_off.append(library)

    def give_way_to_compiler():
        """A dispatch mode keeps torch.compile from compiling: whoever uses it has constants alone."""
        compile_ = torch.compile

        def compile(*args, **kwargs):
            spec = sys._getframe(1).f_globals.get("__spec__")
            # A library that decorates a function while it is imported may never call it.
            if not switched_off and not getattr(spec, "_initializing", False):
                keep_constants()
            return compile_(*args, **kwargs)

        compile.__doc__, compile.__wrapped__ = compile_.__doc__, compile_
        torch.compile = compile

    if routing:
        ControlValues().__enter__()
        return
    follow(torch.no_grad)
    follow(torch.inference_mode)
    give_way_to_compiler()


if "torch" in sys.modules:
    install(sys.modules["torch"])
