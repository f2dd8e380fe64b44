# SPDX-License-Identifier: MIT
# What the probe knows of Python and PyTorch: kinds of values, accessors, names.  probe.py has its rules and follows it
# in the same name space.

# common/kinds.h, VT_ROLES.  NO_ROLE: look through it, but a tensor there is nobody's.
NO_ROLE, PARAMETER, BUFFER, ATTRIBUTE, GRADIENT, OPTIMIZER, MASTER, CACHE, INPUT, VARIABLE, HELD = range(11)
# common/journal_format.h, enum vt_tensor_flag
REQUIRES_GRAD, LEAF, VIEW = 1, 2, 4

# common/kinds.h, VT_SOURCE_TEXTS
CELL, LINES = 1, 3
# probe_program.h, enum vt_probe_scope
SOURCES, NAMES, HOLDERS = range(3)

# What a value is, by its type.
(NOTHING, A_TENSOR, A_MODULE, AN_OPTIMIZER, A_CACHE, A_DICT, A_LIST, A_TUPLE, A_SET, A_FUNCTION, A_METHOD, A_PARTIAL,
 A_GENERATOR, AN_OBJECT) = range(14)

# What leads to much, and by a way on which only the program's own code, not a library's, holds a model.
ROUNDABOUT = frozenset((A_FUNCTION, A_METHOD, A_PARTIAL, A_GENERATOR, AN_OBJECT))

# What a tensor is, by its type.
ORDINARY, WRAPPER = range(2)

MOST_ITEMS = 4096    # of one container; longer ones are data
MOST_DEPTH = 6       # containers and objects inside each other
MOST_OBJECTS = 2     # objects inside each other, self.trainer.model; one more where nothing nearer has the value
MOST_VALUES = 50000  # in all
MOST_FRAMES = 256    # of one thread, outermost first
HEAP_TYPE = 1 << 9   # Py_TPFLAGS_HEAPTYPE: a class made in Python, or like one
OPTIMIZED = 1        # CO_OPTIMIZED: the code of a function

mro_of = type.__dict__["__mro__"].__get__
flags_of = type.__dict__["__flags__"].__get__
class_name_of = type.__dict__["__name__"].__get__
class_variables_of = type.__dict__["__dict__"].__get__
items_of = dict.items

MODULE_TYPE = type(MODULES["sys"])
FUNCTION_TYPE = type(lambda: 0)
METHOD_TYPE = type((lambda self: 0).__get__(0))
GENERATOR_TYPE = type((lambda: (yield))())
CELL_TYPE = type((lambda x: lambda: x)(0).__closure__[0])
DEFAULT_DICT_TYPE = variables(MODULES["collections"])["defaultdict"] if "collections" in MODULES else dict
SLOT_TYPE = type(METHOD_TYPE.__dict__["__self__"])

# How a tensor without an ordinary storage refuses.  Not Exception: what a signal handler of the program raises into us
# has to pass.
REFUSALS = (RuntimeError, ValueError, TypeError, AttributeError)
# The same of a whole tree or frame that is not what it seems.
SURPRISES = REFUSALS + (KeyError, IndexError)

# What nn.Module itself keeps in a module.
MODULE_VARIABLES = frozenset((
    "training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_backward_pre_hooks",
    "_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"))

# Where attention and state-space layers keep what they computed for earlier tokens, whatever holds it.
CACHE_VARIABLES = frozenset((
    "past_key_values", "past_key_value", "layer_past", "kv_cache", "kv_caches", "key_cache", "value_cache", "k_cache",
    "v_cache", "cache_k", "cache_v", "self_attention_cache", "cross_attention_cache", "conv_states", "ssm_states",
    "recurrent_states", "key_value_memory_dict"))

# Code of nn.Module that calls forward().
CALLS = frozenset(("_call_impl", "_wrapped_call_impl", "_slow_forward"))

# Modules that hand a call on to the one that they wrap, and the name that they have it under.
WRAPPED = ("_orig_mod", "module", "_fsdp_wrapped_module")

# Where IPython keeps what cells returned.
RESULTS = frozenset(("Out", "In"))
# Whose global variables those of a notebook's cells are.
NOTEBOOK = "notebook"

# Names of attributes are interned: these are the same objects.
STATE, GROUPS = "state", "param_groups"

# Packages that run the program's own code: what they hold of it has a shorter name there.
RUNNERS = frozenset((
    "IPython", "ipykernel", "ipykernel_launcher", "traitlets", "tornado", "asyncio", "runpy", "zmq", "jupyter_client",
    "comm", "prompt_toolkit", "nbclient"))

# Packages whose objects hold much and none of it tensors.
OPAQUE_PACKAGES = RUNNERS | frozenset((
    "logging", "threading", "multiprocessing", "concurrent", "subprocess", "unittest", "_pytest", "pluggy",
    "importlib", "enum", "sympy", "numpy", "tqdm"))


class Kinds:
    """What values are; asked once per type."""

    def __init__(self, torch):
        self.tensor_base = torch.tensor_base
        self.plain_types = torch.plain_types
        self.disabled = torch.disabled_dispatch
        self.special = {torch.module_base: A_MODULE, torch.optimizer_base: AN_OPTIMIZER, dict: A_DICT, list: A_LIST,
                        tuple: A_TUPLE, set: A_SET, frozenset: A_SET, type: NOTHING, BaseException: NOTHING,
                        MODULE_TYPE: NOTHING, torch.tensor_base: A_TENSOR, FUNCTION_TYPE: A_FUNCTION,
                        METHOD_TYPE: A_METHOD, GENERATOR_TYPE: A_GENERATOR}
        for package, name, kind in (("collections", "deque", A_SET), ("functools", "partial", A_PARTIAL)):
            if package in MODULES:
                self.special[variables(MODULES[package])[name]] = kind
        # By identity: a metaclass may compare and hash as it likes.
        self.special = {id(cls): kind for cls, kind in self.special.items()}
        self.known = {}    # id of a type -> kind; types live as long as their values, which we hold
        self.tensors = {}
        self.slots = {}

    def of(self, value):
        cls = type(value)
        kind = self.known.get(id(cls))
        if kind is None:
            kind = self.known[id(cls)] = self.classify(cls)
        return kind

    def classify(self, cls):
        for base in mro_of(cls):
            kind = self.special.get(id(base))
            if kind is not None:
                return kind
        if not flags_of(cls) & HEAP_TYPE:
            return NOTHING
        package = class_variables_of(cls).get("__module__")
        if type(package) is str and package.partition(".")[0] in OPAQUE_PACKAGES:
            return NOTHING
        return A_CACHE if "Cache" in class_name_of(cls) else AN_OBJECT

    def of_tensor(self, tensor):
        cls = type(tensor)
        kind = self.tensors.get(id(cls))
        if kind is None:
            kind = self.tensors[id(cls)] = self.classify_tensor(cls)
        return kind

    def classify_tensor(self, cls):
        """A wrapper has no storage of its own: PyTorch's accessors may call its Python code, or lie."""
        for base in mro_of(cls):
            if base is self.plain_types[0]:
                return ORDINARY
            dispatch = class_variables_of(base).get("__torch_dispatch__", self.disabled)
            if dispatch is not self.disabled:
                return WRAPPER
        return ORDINARY

    def slots_of(self, cls):
        """[(name, descriptor)] of __slots__."""
        slots = self.slots.get(id(cls))
        if slots is None:
            slots = self.slots[id(cls)] = [
                (name, slot) for base in mro_of(cls) if flags_of(base) & HEAP_TYPE
                for name, slot in list(class_variables_of(base).items()) if type(slot) is SLOT_TYPE]
        return slots

    def attributes(self, value):
        """[(name, value)]"""
        inside = variables(value)
        found = list(items_of(inside)) if inside else []
        for name, slot in self.slots_of(type(value)):
            try:
                found.append((name, slot.__get__(value)))
            except AttributeError:
                pass
        return found


class Torch:
    """PyTorch's types and accessors; AttributeError and KeyError where there is none that we know."""

    def __init__(self):
        torch = variables(MODULES["torch"])
        core = torch["_C"]
        base = getattr(core, "TensorBase", None) or core._TensorBase
        self.tensor_base = base
        self.plain_types = (torch["Tensor"], variables(MODULES["torch.nn.parameter"])["Parameter"])
        self.module_base = variables(MODULES["torch.nn.modules.module"])["Module"]
        self.optimizer_base = variables(MODULES["torch.optim.optimizer"])["Optimizer"]
        # By what the attribute of a class without a __torch_dispatch__ is.
        self.disabled_dispatch = class_variables_of(self.plain_types[0]).get("__torch_dispatch__")
        self.without_functions = core.DisableTorchFunction
        self.is_cuda = base.is_cuda.__get__
        self.gradient = base.grad.__get__
        self.is_leaf = base.is_leaf.__get__
        self.requires_grad = base.requires_grad.__get__
        self.shape = base.shape.__get__
        self.dtype = base.dtype.__get__
        self.handle = base._cdata.__get__
        self.element_bytes = base.element_size
        self.device = base.get_device
        self.nr_elements = base.numel
        self.storage = base.untyped_storage
        # Not data_ptr(): that would copy a copy-on-write storage.
        self.address = getattr(core, "_data_address", None) or (lambda tensor: self.storage(tensor).data_ptr())


def stored_items(value):
    """[(key, value)] of a dictionary; strings may be data of the program's users."""
    return [(None if REDACT and type(key) is str else key, child) for key, child in list(items_of(value))]


def child_name(name, key):
    if type(key) is not str:
        key = str(key) if type(key) is int else "?"
    return f"{name}.{key}" if name else key


def is_private(name):
    return name[:1] == "_" or name in RESULTS


def entries(inside, name):
    """[(key, value)] of the dictionary that an object has under a name; also of a subclass, none of anything else."""
    value = inside.get(name)
    return list(items_of(value)) if dict in mro_of(type(value)) else ()


def root_name(holder, name):
    if not name or not holder or holder[-1:] == " ":
        return holder + name
    return f"{holder}.{name}"


def is_optimizer(items):
    """By what every optimizer has, also those that are not PyTorch's."""
    found = {key: value for key, value in items if key is STATE or key is GROUPS}
    state = found.get(STATE)
    return type(found.get(GROUPS)) is list and (type(state) is dict or type(state) is DEFAULT_DICT_TYPE)


def frame_variables(frame):
    """[(name, value)]"""
    if MINOR >= 13:
        return list(frame.f_locals.items())
    code = frame.f_code
    names, cells = code.co_varnames, code.co_cellvars
    if MINOR >= 11:
        # An argument that is a cell has one place.
        cells = tuple([name for name in cells if name not in names])
    names = names + cells + code.co_freevars
    values = fast_locals(frame, len(names)) or ()
    return [(name, value.cell_contents if type(value) is CELL_TYPE and has_contents(value) else value)
            for name, value in zip(names, values)]


def has_contents(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True
