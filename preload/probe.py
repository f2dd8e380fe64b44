# SPDX-License-Identifier: MIT
# The probe: which storage does the program know under which name?  probe_program.c compiles this once per interpreter
# (3.9 to 3.14) and calls look() with the GIL, between any two instructions of the program.
#
# Rules, each with a test:
#  - No code of the program runs: no getattr, isinstance, == or hash on its objects.  Types are asked with type(),
#    attributes read from an object's own dictionary (variables), containers through the methods of the base class,
#    tensors through PyTorch's own accessors with __torch_function__ switched off.
#  - Nothing is printed, changed or kept: all references end with the call.
#  - frame.f_locals is not read before 3.13 (probe_program.c, fast_locals).
#
# Provided by probe_program.c: MODULES, MINOR, has_tensor, write_tensor, write_module, storage_bytes, variables,
# fast_locals, is_late.

# common/kinds.h, VT_ROLES
PARAMETER, BUFFER, ATTRIBUTE, GRADIENT, OPTIMIZER, MASTER, CACHE, INPUT, VARIABLE = range(1, 10)
# common/journal_format.h, enum vt_tensor_flag
REQUIRES_GRAD, LEAF, VIEW = 1, 2, 4

# What a value is, by its type.
NOTHING, A_TENSOR, A_MODULE, AN_OPTIMIZER, A_MAPPING, A_SEQUENCE, A_FUNCTION, A_METHOD, A_CACHE, AN_OBJECT = range(10)

MOST_ITEMS = 4096    # of one container
MOST_DEPTH = 6       # containers and objects inside each other
MOST_OBJECTS = 2     # objects inside each other: self.trainer.model
MOST_FRAMES = 256
HEAP_TYPE = 1 << 9   # Py_TPFLAGS_HEAPTYPE: a class made in Python, or like one
OPTIMIZED = 1        # CO_OPTIMIZED: the code of a function

mro_of = type.__dict__["__mro__"].__get__
flags_of = type.__dict__["__flags__"].__get__
class_name_of = type.__dict__["__name__"].__get__
class_variables_of = type.__dict__["__dict__"].__get__
items_of = dict.items

# Failures that a tensor without an ordinary storage answers with.  Not Exception: what a signal handler of the program
# raises into us has to pass.
REFUSALS = (RuntimeError, ValueError, TypeError, AttributeError)

# Variables of nn.Module itself.
MODULE_VARIABLES = frozenset((
    "training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_backward_pre_hooks",
    "_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"))


class Look:
    """One look; dies with it."""

    def __init__(self, torch):
        core = torch._C
        base = getattr(core, "TensorBase", None) or core._TensorBase
        self.tensor_base = base
        self.plain = (torch.Tensor, torch.nn.Parameter)
        self.module_base = torch.nn.Module
        self.optimizer_base = torch.optim.Optimizer
        self.is_cuda = base.is_cuda.__get__
        self.gradient = base.grad.__get__
        self.is_leaf = base.is_leaf.__get__
        self.needs_gradient = base.requires_grad.__get__
        self.shape = base.shape.__get__
        self.dtype = base.dtype.__get__
        self.handle = base._cdata.__get__
        self.element_bytes = base.element_size
        self.device = base.get_device
        self.nr_elements = base.numel
        self.storage = base.untyped_storage
        self.address = core._data_address
        self.dtypes = {}
        self.kinds = {}       # type -> what its values are
        self.visited = set()  # ids of containers, objects and modules
        self.modules = []     # (module, holder), outermost variables first
        self.optimizers = []
        self.found = []       # (tensor, role, name, holder): plain variables
        self.names = {}       # id of a parameter -> (name, holder)

    def kind(self, value):
        cls = type(value)
        kind = self.kinds.get(cls)
        if kind is None:
            kind = self.kinds[cls] = self.classify(cls)
        return kind

    def classify(self, cls):
        for base in mro_of(cls):
            if base is self.tensor_base:
                return A_TENSOR
            if base is self.module_base:
                return A_MODULE
            if base is self.optimizer_base:
                return AN_OPTIMIZER
            if base is dict:
                return A_MAPPING
            if base is list or base is tuple:
                return A_SEQUENCE
            if base is type or base is BaseException or base is MODULE_TYPE:
                return NOTHING
        if cls is FUNCTION_TYPE:
            return A_FUNCTION
        if cls is METHOD_TYPE:
            return A_METHOD
        if not flags_of(cls) & HEAP_TYPE:
            return NOTHING
        return A_CACHE if "Cache" in class_name_of(cls) else AN_OBJECT

    # Tensors.

    def record(self, role, tensor, name, holder):
        if type(tensor) not in self.plain:
            return
        if not self.is_cuda(tensor):
            return
        try:
            address = self.address(tensor)
            if not address or has_tensor(address, role, name, holder):
                return
            self.write(role, tensor, name, holder, address)
        except REFUSALS:
            pass

    def write(self, role, tensor, name, holder, address):
        size_bytes = storage_bytes(self.handle(tensor))
        if size_bytes is None:
            size_bytes = self.storage(tensor).nbytes()
        flags = 0
        if self.needs_gradient(tensor):
            flags |= REQUIRES_GRAD
        if self.is_leaf(tensor):
            flags |= LEAF
        if self.nr_elements(tensor) * self.element_bytes(tensor) < size_bytes:
            flags |= VIEW
        dtype = str(self.dtype(tensor))
        write_tensor(address, role, name, holder, size_bytes, self.device(tensor), flags,
                     dtype[6:] if dtype[:6] == "torch." else dtype, ",".join(map(str, self.shape(tensor))))

    # Variables.

    def explore(self, value, name, holder, place, role):
        """`holder` is that of a root found here, `place` that of a tensor."""
        todo = [(value, name, 0, 0, role)]
        while todo:
            value, name, depth, objects, role = todo.pop()
            kind = self.kind(value)
            if kind == NOTHING:
                continue
            if kind == A_TENSOR:
                self.found.append((value, role, name, place))
                continue
            if id(value) in self.visited:
                continue
            if kind == A_MODULE:
                self.visited.add(id(value))
                self.modules.append((value, holder + name))
                continue
            self.visited.add(id(value))
            if depth > MOST_DEPTH:
                continue
            if kind == A_MAPPING:
                self.push(todo, items_of(value), dict.__len__(value), name, depth, objects, role)
            elif kind == A_SEQUENCE:
                base = list if list in mro_of(type(value)) else tuple
                self.push(todo, enumerate(base.__iter__(value)), base.__len__(value), name, depth, objects, role)
            elif kind == A_METHOD:
                todo.append((value.__self__, name + ".__self__", depth + 1, objects, role))
            else:
                if kind == AN_OPTIMIZER:
                    self.optimizers.append((value, holder + name))
                if kind == A_CACHE:
                    role = CACHE
                elif objects >= MOST_OBJECTS:
                    continue
                inside = variables(value)
                if inside is not None and kind != AN_OPTIMIZER:
                    self.push(todo, items_of(inside), len(inside), name, depth, objects + 1, role)

    def push(self, todo, items, length, name, depth, objects, role):
        if length > MOST_ITEMS:
            return
        kinds = self.kinds
        for key, value in list(items):
            if kinds.get(type(value)) != NOTHING:
                todo.append((value, f"{name}.{key}" if type(key) is str or type(key) is int else name + ".?",
                             depth + 1, objects, role))

    # Frames.

    def frame(self, frame, seen_globals):
        code = frame.f_code
        scope = frame.f_globals
        package = scope.get("__name__")
        is_torch = type(package) is str and (package == "torch" or package.startswith("torch."))
        function = code.co_qualname if MINOR >= 11 else code.co_name
        file = code.co_filename.rpartition("/")[2]
        if code.co_flags & OPTIMIZED:
            for name, value in frame_variables(frame, code):
                if self.kind(value) == A_TENSOR and is_torch:
                    continue
                self.explore(value, name, function + ": ", file + ":" + function, VARIABLE)
        if id(scope) not in seen_globals and not is_torch:
            seen_globals.add(id(scope))
            for name, value in list(items_of(scope)):
                if self.kinds.get(type(value)) != NOTHING:
                    self.explore(value, name, file + ": ", file, VARIABLE)

    # What was found.

    def roots(self):
        """The modules that are nobody's child, in the order in which they were found."""
        children = set()
        seen = set()
        todo = [module for module, holder in self.modules]
        while todo:
            module = todo.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            inside = variables(module).get("_modules")
            if inside:
                for child in list(items_of(inside)):
                    if child[1] is not None:
                        children.add(id(child[1]))
                        todo.append(child[1])
        return [(module, holder) for module, holder in self.modules if id(module) not in children]

    def tree(self, root, holder):
        todo = [(root, "")]
        seen = set()
        while todo and not is_late():
            module, prefix = todo.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            inside = variables(module)
            write_module(id(module), class_name_of(type(module)), prefix[:-1], holder, id(root))
            for key, parameter in list(items_of(inside.get("_parameters") or {})):
                if parameter is not None:
                    name = prefix + key
                    self.names.setdefault(id(parameter), (name, holder))
                    self.record(PARAMETER, parameter, name, holder)
                    self.record_gradient(parameter, name, holder)
            for key, buffer in list(items_of(inside.get("_buffers") or {})):
                if buffer is not None:
                    self.names.setdefault(id(buffer), (prefix + key, holder))
                    self.record(BUFFER, buffer, prefix + key, holder)
            for key, value in list(items_of(inside)):
                if key not in MODULE_VARIABLES and self.kind(value) == A_TENSOR:
                    self.record(ATTRIBUTE, value, prefix + key, holder)
            children = list(items_of(inside.get("_modules") or {}))
            children.reverse()
            for key, child in children:
                if child is not None:
                    todo.append((child, prefix + key + "."))

    def record_gradient(self, parameter, name, holder):
        if type(parameter) in self.plain and self.is_leaf(parameter):
            gradient = self.gradient(parameter)
            if gradient is not None:
                self.record(GRADIENT, gradient, name, holder)

    def optimizer(self, optimizer, holder):
        inside = variables(optimizer)
        for group_nr, group in enumerate(inside.get("param_groups") or ()):
            for nr, parameter in enumerate(group.get("params") or ()):
                if id(parameter) not in self.names:
                    name = f"param_groups.{group_nr}.params.{nr}"
                    self.names[id(parameter)] = (name, holder)
                    self.record(MASTER, parameter, name, holder)
                    self.record_gradient(parameter, name, holder)
        for parameter, state in list(items_of(inside.get("state") or {})):
            name = self.names.get(id(parameter), ("?", ""))[0]
            for key, value in list(items_of(state)):
                if self.kind(value) == A_TENSOR:
                    self.record(OPTIMIZER, value, f"{name}.{key}", holder)


def frame_variables(frame, code):
    if MINOR >= 13:
        return list(frame.f_locals.items())
    names = code.co_varnames
    cells = code.co_cellvars
    if MINOR >= 11:
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


def look(frame, thread):
    torch = MODULES.get("torch")
    if torch is None or not hasattr(torch, "optim"):
        return
    with torch._C.DisableTorchFunction():
        this = Look(torch)
        frames = []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        frames.reverse()
        seen_globals = set()
        for frame in frames[:MOST_FRAMES]:
            this.frame(frame, seen_globals)
        for root, holder in this.roots():
            this.tree(root, holder)
        for optimizer, holder in this.optimizers:
            this.optimizer(optimizer, holder)
        for value, role, name, place in this.found:
            if id(value) not in this.names:
                this.record(role, value, name, place)


FUNCTION_TYPE = type(look)
METHOD_TYPE = type(Look.__dict__["kind"].__get__(0))
CELL_TYPE = type((lambda x: lambda: x)(0).__closure__[0])
MODULE_TYPE = type(MODULES["builtins"])
