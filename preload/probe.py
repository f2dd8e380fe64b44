# SPDX-License-Identifier: MIT
# The probe: which storage does the program know under which name?  probe_program.c compiles probe_kinds.py and this
# once per interpreter (3.9 to 3.14) and calls look() with the GIL, between any two instructions of the program.
#
# Rules, each with a test:
#  - No code of the program runs: no getattr, isinstance, == or hash on its objects.  Types are asked with type(),
#    attributes read from an object's own dictionary (variables), containers through the methods of the base class,
#    tensors through PyTorch's own accessors with __torch_function__ switched off.
#  - Nothing is imported, printed, changed or kept: all references end with the call.
#  - frame.f_locals is not read before 3.13 (probe_program.c, fast_locals).
#
# probe_holders.py, which comes last, says who holds what piles up.
#
# probe_program.c adds MODULES (sys.modules), MINOR, REDACT, has_tensor, write_tensor, write_module, has_source,
# write_source, storage_bytes, variables, fast_locals and is_late.


def make_record(look):
    """record(tensor, role, name, holder), called for every tensor: its variables are as near as can be."""
    tensor_type, parameter_type = look.torch.plain_types
    is_cuda, address_of = look.torch.is_cuda, look.torch.address
    write, of_tensor, inside, named = look.write, look.kinds.of_tensor, look.record_inside, look.named

    def record(tensor, role, name, holder):
        cls = type(tensor)
        if role != VARIABLE:
            named.add(id(tensor))
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

    def __init__(self, torch, cells):
        self.torch = torch
        self.cells = cells         # {file name: number}
        self.kinds = Kinds(torch)
        self.nr_values = 0
        self.seen = set()          # ids of values
        self.seen_modules = set()
        self.modules = []          # (module, holder), outermost variables first
        self.optimizers = []       # (attributes, holder)
        self.found = []            # (tensor, role, name, holder)
        self.recorded = set()      # ids of those that were written
        self.further = []          # (value, name, holder, place, role) of objects that are too far inside of others
        self.names = {}            # id of a tensor -> its name as a parameter or so
        self.named = set()         # ids of tensors that have a role
        self.is_inside_trained = False  # within a tensor that wraps others and requires a gradient
        self.record = make_record(self)

    # Tensors.

    def record_inside(self, tensor, role, name, holder):
        """What a tensor subclass keeps its payload, scales and the like in."""
        package = class_variables_of(type(tensor)).get("__module__")
        # Tensors of the compiler, without memory; they lead to all that it knows.
        if id(tensor) in self.seen or type(package) is str and package.startswith("torch._subclasses"):
            return
        self.seen.add(id(tensor))
        was_inside = self.is_inside_trained
        if self.kinds.of_tensor(tensor) == WRAPPER and self.torch.requires_grad(tensor):
            self.is_inside_trained = True
        try:
            self.record_payload(tensor, role, name, holder)
        finally:
            self.is_inside_trained = was_inside

    def record_payload(self, tensor, role, name, holder):
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
        # What a wrapper holds does not say whether it is trained: autograd knows the wrapper alone.
        flags = REQUIRES_GRAD if self.is_inside_trained or torch.requires_grad(tensor) else 0
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
            self.nr_values += 1
            if self.nr_values % 256 == 0 and is_late():
                return
            if kind == A_TENSOR:
                if role:
                    self.found.append((value, role, name, place))
                continue
            if kind == NOTHING or id(value) in self.seen or depth > MOST_DEPTH or self.nr_values > MOST_VALUES:
                continue
            if kind == A_MODULE:
                self.seen.add(id(value))
                self.modules.append((value, root_name(holder, name)))
                continue
            if kind == AN_OBJECT or kind == AN_OPTIMIZER:
                if objects >= MOST_OBJECTS:
                    self.further.append((value, name, holder, place, role))
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
            return stored_items(value) if dict.__len__(value) <= MOST_ITEMS else ()
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
            cells = zip(value.__code__.co_freevars, value.__closure__ or ())
            return [(name, cell.cell_contents) for name, cell in cells if has_contents(cell)]
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
            root = package.partition(".")[0] if type(package) is str else ""
            if root in RUNNERS:
                continue
            is_torch = root == "torch"
            cell = self.cells.get(code.co_filename)
            file = f"cell {cell}" if cell else code.co_filename.rpartition("/")[2]
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
                self.scope(scope, NOTEBOOK if cell else file, package == "__main__")

    def scope(self, scope, file, is_main):
        known = self.kinds.known
        for name, value in in_order(items_of(scope)):
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
            children = dict(entries(variables(module), "_modules"))
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
            for key, child in entries(variables(module), "_modules"):
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
            children = [(child, f"{prefix}{key}.") for key, child in entries(inside, "_modules")
                        if child is not None]
            children.reverse()
            todo += children

    def parameters(self, inside, prefix, holder):
        names, record = self.names, self.record
        is_leaf, gradient_of = self.torch.is_leaf, self.torch.gradient
        for key, parameter in entries(inside, "_parameters"):
            if parameter is None:
                continue
            name = prefix + key
            names.setdefault(id(parameter), name)  # tied: the name that named_parameters() gives
            record(parameter, PARAMETER, name, holder)
            # .grad of what is no leaf warns.
            if is_leaf(parameter):
                gradient = gradient_of(parameter)
                if gradient is not None:
                    record(gradient, GRADIENT, name, holder)

    def own_tensors(self, inside, prefix, holder, is_cache):
        """Buffers, and what a module's own variables hold."""
        for key, buffer in entries(inside, "_buffers"):
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
            is_word = type(parameter) is str and not REDACT
            name = self.names.get(id(parameter)) or child_name("state", parameter if is_word else nr)
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
        self.attempt(self.stack, outwards(frame), seen_globals)
        others = MODULES["sys"]._current_frames()
        others.pop(thread, None)  # this is our own, which would hold itself
        for other in others.values():
            self.attempt(self.stack, outwards(other), seen_globals)
        for frames in failures():
            self.attempt(self.stack, frames, seen_globals)
        main = variables(MODULES["__main__"])
        if id(main) not in seen_globals:
            self.attempt(self.scope, main, "__main__", True)
        self.write_all()
        # One object further, and after all else: what has a shorter name keeps it.
        further, self.further = self.further, []
        for value, name, holder, place, role in further:
            if is_late():
                return
            self.attempt(self.explore, value, name, holder, place, role, MOST_OBJECTS - 1)
        self.write_all()

    def write_all(self):
        while self.modules:
            for root, holder in self.roots():
                self.attempt(self.tree, root, holder)
        optimizers, self.optimizers = self.optimizers, []
        for inside, holder in optimizers:
            self.attempt(self.optimizer, inside, holder)
        # An argument or a cache that is also an ordinary variable is that first.
        found, self.found = self.found, []
        for is_variable in False, True:
            for nr, (value, role, name, holder) in enumerate(found):
                if nr % 256 == 0 and is_late():
                    return
                if (role == VARIABLE) is is_variable and id(value) not in self.names and id(value) not in self.recorded:
                    self.recorded.add(id(value))
                    self.attempt(self.plain, value, role, name, holder)

    def plain(self, value, role, name, holder):
        self.record(value, role, name, holder)
        self.record_gradient(value, name, holder)

    def attempt(self, what, *arguments):
        """One that fails costs no other."""
        try:
            what(*arguments)
        except SURPRISES:
            pass


def in_order(items):
    """Names of the program's own before those that IPython or a convention made; none of the interpreter's."""
    # At once, in C: other threads of the program may add names meanwhile.
    items = [item for item in list(items) if type(item[0]) is str and item[0][:2] != "__"]
    return [item for item in items if not is_private(item[0])] + [item for item in items if is_private(item[0])]


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


def cells():
    """{file name: number} of the notebook's cells: IPython keeps it for its tracebacks."""
    try:
        shell = class_variables_of(variables(MODULES["IPython.core.interactiveshell"])["InteractiveShell"])
        numbers = variables(variables(shell["_instance"])["compile"])["_filename_map"]
        return {file: number for file, number in list(items_of(numbers)) if type(file) is str and type(number) is int}
    except SURPRISES:
        return {}


def generated():
    """{file: (lines, stack traces)} of code that torch.compile made: PyTorch keeps them for its memory snapshots."""
    try:
        cache = class_variables_of(variables(MODULES["torch._inductor.codecache"])["PyCodeCache"])
        return [(file, parts) for file, parts in list(items_of(cache["linemaps"]))
                if type(file) is str and type(parts) is list and len(parts) == 2]
    except SURPRISES:
        return ()


def lines_of(numbers, traces):
    """As analyzer/model/generated_lines.h describes it."""
    files, rows = {}, []
    for number, trace in zip(numbers, traces):
        if type(number) is not int or type(trace) is not str:
            continue
        frames = [str(number)]
        for line in trace.split("\n"):
            file, quote, place = line.partition('", line ')
            if quote and file[:8] == '  File "':
                place, _, function = place.partition(", in ")
                frames.append(f"{files.setdefault(file[8:], len(files))}:{place} {function}")
        rows.append("\t".join(frames))
    return "\n".join([*files, "", *rows])


def search(frame, thread, scope):
    numbers = cells()
    for file, number in numbers.items():
        write_source(CELL, file, str(number))
    for file, (lines, traces) in generated():
        if is_late():
            break
        if not has_source(LINES, file):
            write_source(LINES, file, lines_of(lines, traces))
    if scope == SOURCES:
        return
    try:
        torch = Torch()
    except SURPRISES:
        return
    this = Look(torch, numbers)
    try:
        with torch.without_functions():
            this.everywhere(frame, thread)
            if scope == HOLDERS:
                this.attempt(search_holders, this, frame, thread)
    finally:
        # It and the function hold each other, and garbage is for the program's own collector to find.
        this.record = None


def look(frame, thread, scope):
    # Newer interpreters have been told already (probe_program.c).
    collector = variables(MODULES["gc"]) if MINOR < 10 and "gc" in MODULES else None
    was_collecting = collector and collector["isenabled"]()
    try:
        if was_collecting:
            collector["disable"]()
        search(frame, thread, scope)
    except Exception as error:
        # Ours ends here.  What a signal handler of the program raised, in a frame of its own, goes on; as does an
        # interrupt from the keyboard, which is no Exception.
        traceback = error.__traceback__
        while traceback.tb_next is not None:
            traceback = traceback.tb_next
        is_ours = traceback.tb_frame.f_globals is globals()
        del traceback
        if not is_ours:
            raise
    finally:
        if was_collecting:
            collector["enable"]()
