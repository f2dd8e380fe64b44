# SPDX-License-Identifier: MIT
# The probe: which storage does the program know under which name?  probe_program.c compiles this once per interpreter
# (3.9 to 3.14) and calls look() with the GIL, between any two instructions of the program.
#
# Rules, each with a test:
#  - No code of the program runs: no getattr, isinstance, == or hash on its objects.  Types are asked with type(),
#    attributes read from an object's own dictionary (variables), containers through the methods of the base class,
#    tensors through PyTorch's own accessors with __torch_function__ switched off.
#  - Nothing is imported, printed, changed or kept: all references end with the call.
#  - frame.f_locals is not read before 3.13 (probe_program.c, fast_locals).
#
# probe_program.c adds MODULES (sys.modules), MINOR, has_tensor, write_tensor, write_module, storage_bytes, variables,
# fast_locals and is_late.

# common/kinds.h, VT_ROLES.  NO_ROLE: look through it, but a tensor there is nobody's.
NO_ROLE, PARAMETER, BUFFER, ATTRIBUTE, GRADIENT, OPTIMIZER, MASTER, CACHE, INPUT, VARIABLE = range(10)
# common/journal_format.h, enum vt_tensor_flag
REQUIRES_GRAD, LEAF, VIEW = 1, 2, 4

# What a value is, by its type.
(NOTHING, A_TENSOR, A_MODULE, AN_OPTIMIZER, A_CACHE, A_DICT, A_LIST, A_TUPLE, A_SET, A_FUNCTION, A_METHOD, A_PARTIAL,
 A_GENERATOR, AN_OBJECT) = range(14)

# What leads to much, and by a way on which only the program's own code, not a library's, holds a model.
ROUNDABOUT = frozenset((A_FUNCTION, A_METHOD, A_PARTIAL, A_GENERATOR, AN_OBJECT))

# What a tensor is, by its type.
ORDINARY, WRAPPER = range(2)

MOST_ITEMS = 4096    # of one container; longer ones are data
MOST_DEPTH = 6       # containers and objects inside each other
MOST_OBJECTS = 2     # objects inside each other: self.trainer.model
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

# Names of attributes are interned: these are the same objects.
STATE, GROUPS = "state", "param_groups"

# Packages whose objects hold much and none of it tensors.
OPAQUE_PACKAGES = frozenset((
    "logging", "threading", "multiprocessing", "concurrent", "asyncio", "subprocess", "unittest", "_pytest", "pluggy",
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


def make_record(look):
    """record(tensor, role, name, holder), called for every tensor: its variables are as near as can be."""
    tensor_type, parameter_type = look.torch.plain_types
    is_cuda, address_of = look.torch.is_cuda, look.torch.address
    write, of_tensor, inside = look.write, look.kinds.of_tensor, look.record_inside

    def record(tensor, role, name, holder):
        cls = type(tensor)
        is_plain = cls is tensor_type or cls is parameter_type
        if (is_plain or of_tensor(tensor) != WRAPPER) and is_cuda(tensor):
            try:
                address = address_of(tensor)
                if address and not has_tensor(address, role, name, holder):
                    write(tensor, role, name, holder, address)
            except REFUSALS:
                pass
        if not is_plain:
            inside(tensor, role, name, holder)

    return record


class Look:
    """One look; dies with it."""

    def __init__(self, torch):
        self.torch = torch
        self.kinds = Kinds(torch)
        self.nr_values = 0
        self.seen = set()          # ids of values
        self.seen_modules = set()
        self.modules = []          # (module, holder), outermost variables first
        self.optimizers = []       # (attributes, holder)
        self.found = []            # (tensor, role, name, holder)
        self.names = {}            # id of a tensor -> its name as a parameter or so
        self.record = make_record(self)

    # Tensors.

    def record_inside(self, tensor, role, name, holder):
        """What a tensor subclass keeps its payload, scales and the like in."""
        package = class_variables_of(type(tensor)).get("__module__")
        # Tensors of the compiler, without memory; they lead to all that it knows.
        if id(tensor) in self.seen or type(package) is str and package.startswith("torch._subclasses"):
            return
        self.seen.add(id(tensor))
        before = len(self.found)
        for key, value in self.kinds.attributes(tensor):
            if key == "_local_tensor" and self.kinds.of(value) == A_TENSOR:
                self.record(value, role, name, holder)
            elif key != "grad_fn":
                self.explore(value, child_name(name, key), holder, holder, role)
        found, self.found[before:] = self.found[before:], []
        for value, role, name, holder in found:
            self.record(value, role, name, holder)

    def write(self, tensor, role, name, holder, address):
        torch = self.torch
        size_bytes = storage_bytes(torch.handle(tensor))
        if size_bytes is None:
            size_bytes = torch.storage(tensor).nbytes()
        flags = REQUIRES_GRAD if torch.requires_grad(tensor) else 0
        if torch.is_leaf(tensor):
            flags |= LEAF
        if torch.nr_elements(tensor) * torch.element_bytes(tensor) < size_bytes:
            flags |= VIEW
        dtype = str(torch.dtype(tensor))
        write_tensor(address, role, name, holder, size_bytes, torch.device(tensor), flags,
                     dtype.rpartition(".")[2], ",".join(map(str, torch.shape(tensor))))

    def is_ordinary(self, tensor):
        return self.kinds.of_tensor(tensor) == ORDINARY

    def record_gradient(self, parameter, name, holder):
        if self.is_ordinary(parameter) and self.torch.is_leaf(parameter):
            gradient = self.torch.gradient(parameter)
            if gradient is not None:
                self.record(gradient, GRADIENT, name, holder)

    # Values.

    def explore(self, value, name, holder, place, role, objects=0):
        """Look through a value for roots, which get `holder` and its path, and for tensors, which get `place`."""
        todo = [(value, name, holder, place, role, 0, objects)]
        of = self.kinds.of
        while todo:
            value, name, holder, place, role, depth, objects = todo.pop()
            kind = of(value)
            if kind == A_TENSOR:
                if role:
                    self.found.append((value, role, name, place))
                continue
            self.nr_values += 1
            if kind == NOTHING or id(value) in self.seen or depth > MOST_DEPTH or self.nr_values > MOST_VALUES:
                continue
            if kind == A_MODULE:
                self.seen.add(id(value))
                self.modules.append((value, root_name(holder, name)))
                continue
            if kind == AN_OBJECT or kind == AN_OPTIMIZER:
                if objects >= MOST_OBJECTS:
                    continue
                objects += 1
            self.seen.add(id(value))
            items = self.children(value, kind)
            if kind == A_CACHE and role != CACHE:
                holder = place = root_name(holder, name)
                name, role = "", CACHE
            elif kind == AN_OPTIMIZER or kind == AN_OBJECT and is_optimizer(items):
                holder = place = root_name(holder, name)
                name, role = "", OPTIMIZER
                self.optimizers.append((dict(items), holder))
                items = [item for item in items if item[0] is not STATE and item[0] is not GROUPS]
            for key, child in items:
                kind = of(child)
                if kind == NOTHING:
                    continue
                path = child_name(name, key)
                if role != CACHE and type(key) is str and key in CACHE_VARIABLES:
                    path = root_name(holder, path)
                    todo.append((child, "", path, path, CACHE, depth + 1, objects))
                elif kind != A_TENSOR or role:
                    todo.append((child, path, holder, place, role, depth + 1, objects))

    def children(self, value, kind):
        """[(key, value)]; a key is a string or a number, or anything in a dictionary."""
        if kind == A_DICT:
            return list(items_of(value)) if dict.__len__(value) <= MOST_ITEMS else ()
        if kind == A_LIST or kind == A_TUPLE:
            base = list if kind == A_LIST else tuple
            nr = base.__len__(value)
            # Numbers and words: a data set.
            if nr > MOST_ITEMS or not nr or (self.kinds.of(base.__getitem__(value, 0)) == NOTHING and
                                             self.kinds.of(base.__getitem__(value, nr - 1)) == NOTHING):
                return ()
            return list(enumerate(base.__iter__(value)))
        if kind == A_SET:
            base = next(base for base in mro_of(type(value)) if id(base) in self.kinds.special)
            return list(enumerate(base.__iter__(value))) if base.__len__(value) <= MOST_ITEMS else ()
        if kind == A_METHOD:
            return (("__self__", value.__self__),)
        if kind == A_FUNCTION:
            return [(name, cell.cell_contents) for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ())
                    if has_contents(cell)]
        if kind == A_PARTIAL:
            partial = class_variables_of(variables(MODULES["functools"])["partial"])
            return [(name, partial[name].__get__(value)) for name in ("func", "args", "keywords")]
        if kind == A_GENERATOR:
            return frame_variables(value.gi_frame) if value.gi_frame is not None else ()
        return self.kinds.attributes(value)

    # Frames.

    def stack(self, frames, seen_globals):
        """`frames`: outermost first."""
        is_called = False  # below the first call of a module all tensors are the model's own business
        for frame in frames:
            code = frame.f_code
            scope = frame.f_globals
            package = scope.get("__name__")
            is_torch = type(package) is str and (package == "torch" or package.startswith("torch."))
            file = code.co_filename.rpartition("/")[2]
            function = code.co_qualname if MINOR >= 11 else code.co_name
            if is_torch and not is_called and code.co_name in CALLS and package == "torch.nn.modules.module":
                is_called = True
                self.call(dict(frame_variables(frame)))
            if code.co_flags & OPTIMIZED:
                role = NO_ROLE if is_torch or is_called else VARIABLE
                place = file + ":" + function
                for name, value in frame_variables(frame):
                    self.variable(name, value, function + ": ", place, role, role == VARIABLE)
            if id(scope) not in seen_globals and not is_torch:
                seen_globals.add(id(scope))
                self.scope(scope, file, package == "__main__")

    def scope(self, scope, file, is_main):
        known = self.kinds.known
        for name, value in list(items_of(scope)):
            kind = known.get(id(type(value)))
            if kind != NOTHING and (is_main or kind not in ROUNDABOUT):
                self.variable(name, value, file + ": ", file, VARIABLE, is_main)

    def variable(self, name, value, holder, place, role, is_thorough=True):
        kind = self.kinds.of(value)
        if kind == NOTHING or not is_thorough and kind in ROUNDABOUT:
            return
        if name in CACHE_VARIABLES:
            self.explore(value, "", holder + name, holder + name, CACHE)
        else:
            self.explore(value, name, holder, place, role)

    def call(self, arguments):
        """The arguments of an outermost module's call, by forward()'s names for them."""
        module = arguments.get("self")
        if self.kinds.of(module) != A_MODULE:
            return
        place = class_name_of(type(module)) + ".forward"
        names = self.forward_names(module)
        values = arguments.get("args") or arguments.get("input") or ()
        named = [(names[nr] if nr < len(names) else f"args.{nr}", value) for nr, value in enumerate(values)]
        for name, value in named + list(items_of(arguments.get("kwargs") or {})):
            if self.kinds.of(value) != A_TENSOR:
                self.variable(name, value, place + ": ", place, INPUT)
            elif not self.torch.requires_grad(value) or self.torch.is_leaf(value):
                self.found.append((value, INPUT, name, place))

    def forward_names(self, module):
        for attempt in range(len(WRAPPED) + 1):
            inside = variables(module)
            children = inside.get("_modules") or {}
            wrapped = [children[name] for name in WRAPPED if children.get(name) is not None]
            if not wrapped:
                break
            module = wrapped[0]
        for base in mro_of(type(module)):
            forward = class_variables_of(base).get("forward")
            while type(forward) is FUNCTION_TYPE:
                inner = variables(forward).get("__wrapped__")
                if type(inner) is not FUNCTION_TYPE:
                    return forward.__code__.co_varnames[1:forward.__code__.co_argcount]
                forward = inner
        return ()

    # Module trees and optimizers.

    def roots(self):
        """Of the modules found so far those that are nobody's child, in the order in which they were found."""
        children = set()
        seen = set()
        todo = [module for module, holder in self.modules]
        while todo:
            module = todo.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            for child in (variables(module).get("_modules") or {}).values():
                if child is not None:
                    children.add(id(child))
                    todo.append(child)
        found, self.modules = self.modules, []
        return [(module, holder) for module, holder in found if id(module) not in children]

    def tree(self, root, holder):
        todo = [(root, "")]
        while todo and not is_late():
            module, prefix = todo.pop()
            if id(module) in self.seen_modules:
                continue
            self.seen_modules.add(id(module))
            self.seen.add(id(module))
            inside = variables(module)
            class_name = class_name_of(type(module))
            write_module(id(module), class_name, prefix[:-1], holder, id(root))
            self.parameters(inside, prefix, holder)
            self.own_tensors(inside, prefix, holder, "Cache" in class_name)
            children = list((inside.get("_modules") or {}).items())
            children.reverse()
            todo += [(child, f"{prefix}{key}.") for key, child in children if child is not None]

    def parameters(self, inside, prefix, holder):
        names, record, parameter_type = self.names, self.record, self.torch.plain_types[1]
        is_leaf, gradient_of = self.torch.is_leaf, self.torch.gradient
        for key, parameter in list((inside.get("_parameters") or {}).items()):
            if parameter is None:
                continue
            name = prefix + key
            names[id(parameter)] = name
            record(parameter, PARAMETER, name, holder)
            # .grad of what is no leaf warns.
            if (type(parameter) is parameter_type or self.is_ordinary(parameter)) and is_leaf(parameter):
                gradient = gradient_of(parameter)
                if gradient is not None:
                    record(gradient, GRADIENT, name, holder)

    def own_tensors(self, inside, prefix, holder, is_cache):
        """Buffers, and what stands in a module's own variables."""
        for key, buffer in list((inside.get("_buffers") or {}).items()):
            if buffer is not None:
                self.names[id(buffer)] = prefix + key
                self.record(buffer, CACHE if is_cache or key in CACHE_VARIABLES else BUFFER, prefix + key, holder)
        known = self.kinds.known
        for key, value in list(items_of(inside)):
            if key in MODULE_VARIABLES or known.get(id(type(value))) == NOTHING:
                continue
            role = CACHE if is_cache or key in CACHE_VARIABLES else ATTRIBUTE
            if self.kinds.of(value) == A_TENSOR:
                self.names[id(value)] = prefix + key
                self.record(value, role, prefix + key, holder)
            elif id(value) not in self.seen:
                # One object further: a module has its configuration, and that all kinds of things.
                self.explore(value, prefix + key, holder, holder, role, MOST_OBJECTS - 1)

    def optimizer(self, inside, holder):
        for group_nr, group in enumerate(inside["param_groups"]):
            for key, value in list(items_of(group)):
                if key != "params":
                    self.state(value, f"param_groups.{group_nr}.{key}", holder)
                    continue
                for nr, parameter in enumerate(value):
                    if id(parameter) not in self.names:
                        name = f"param_groups.{group_nr}.params.{nr}"
                        self.names[id(parameter)] = name
                        self.record(parameter, MASTER, name, holder)
                        self.record_gradient(parameter, name, holder)
        record, tensor_type = self.record, self.torch.plain_types[0]
        for nr, (parameter, state) in enumerate(list(items_of(inside["state"]))):
            if nr % 64 == 0 and is_late():
                return
            name = self.names.get(id(parameter)) or child_name("state", parameter if type(parameter) is str else nr)
            if type(state) is not dict:
                self.state(state, name, holder)
                continue
            for key, value in state.items():
                if type(value) is tensor_type and type(key) is str:
                    record(value, OPTIMIZER, f"{name}.{key}", holder)
                else:
                    self.state(value, child_name(name, key), holder)

    def state(self, value, name, holder):
        kind = self.kinds.of(value)
        if kind == A_TENSOR:
            self.record(value, OPTIMIZER, name, holder)
        elif kind != NOTHING:
            self.explore(value, name, holder, holder, OPTIMIZER)

    def everywhere(self, frame, thread):
        seen_globals = set()
        self.stack(outwards(frame), seen_globals)
        others = MODULES["sys"]._current_frames()
        others.pop(thread, None)  # this is our own, which would hold itself
        for other in others.values():
            self.stack(outwards(other), seen_globals)
        for frames in failures():
            self.stack(frames, seen_globals)
        main = variables(MODULES["__main__"])
        if id(main) not in seen_globals:
            self.scope(main, "__main__", True)
        self.write_all()

    def write_all(self):
        while self.modules:
            for root, holder in self.roots():
                self.tree(root, holder)
        for inside, holder in self.optimizers:
            self.optimizer(inside, holder)
        # An argument or a cache that is also an ordinary variable is that first.
        recorded = set()
        for is_variable in False, True:
            for value, role, name, holder in self.found:
                if (role == VARIABLE) is is_variable and id(value) not in self.names and id(value) not in recorded:
                    recorded.add(id(value))
                    self.record(value, role, name, holder)
                    if self.torch.requires_grad(value):
                        self.record_gradient(value, name, holder)


def child_name(name, key):
    if type(key) is not str:
        key = str(key) if type(key) is int else "?"
    return f"{name}.{key}" if name else key


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


def outwards(frame):
    """The frames from the outermost one to this."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    return frames[:MOST_FRAMES]


def failures():
    """The tracebacks of what the program is handling, or ended with."""
    system = variables(MODULES["sys"])
    for traceback in (system["exc_info"]()[2], system.get("last_traceback")):
        frames = []
        while traceback is not None and len(frames) < MOST_FRAMES:
            frames.append(traceback.tb_frame)
            traceback = traceback.tb_next
        yield frames


def look(frame, thread):
    try:
        torch = Torch()
    except (AttributeError, KeyError):
        return
    this = Look(torch)
    try:
        with torch.without_functions():
            this.everywhere(frame, thread)
    finally:
        # It and the function hold each other, and garbage is for the program's own collector to find.
        this.record = None
