# SPDX-License-Identifier: MIT
# Who holds what the program piles up?  From a few tensors that have been alive for several steps outwards, through all
# that refers to them, to a variable, a global name, a module or a class.  Follows probe.py in the same name space and
# keeps its rules.
#
# Each level of the search is one pass of the interpreter over all its objects, and compares each reference with each
# tensor or holder in question: few of these, and few levels (probe.c has the time that it may take).
#
# probe_program.c adds was_seen.

MOST_HELD = 8         # tensors
MOST_ALIKE = 2        # of them of one size
MOST_AT_A_LEVEL = 16  # holders that the search continues from
MOST_LEVELS = 12      # an exception in a list, its traceback of several frames
MOST_TEXT = 400
MOST_LISTED = 100000  # entries of one container that are looked through

IN_DICTIONARY = "attributes"  # a link that ways_from replaces
REGISTERED = "_hooks"  # the end of names of dictionaries of hooks, in modules and tensors


def some_frame():
    try:
        raise ValueError
    except ValueError as error:
        return error.__traceback__


TRACEBACK_TYPE = type(some_frame())
FRAME_TYPE = type(some_frame().tb_frame)
FRAME_OF = TRACEBACK_TYPE.tb_frame.__get__
TRACEBACK_OF = BaseException.__traceback__.__get__


def is_below(cls, base):
    """Not `in`, which compares: a metaclass may do that as it likes."""
    for one in mro_of(cls):
        if one is base:
            return True
    return False


def file_of(code):
    return code.co_filename.rpartition("/")[2]


def function_of(code):
    return f"{file_of(code)}:{code.co_qualname if MINOR >= 11 else code.co_name}"


class Holders:
    """One search.  What stands for an object between two levels is its id: a reference would be found, too."""

    def __init__(self, look, frame, thread):
        self.look = look
        self.kinds = look.kinds
        self.variables = {}  # id of a value -> what a running function calls it
        self.running = set()  # ids of frames
        self.globals = {}    # id of a module's names -> its file
        self.own = set()     # ids of our containers
        self.links = {}      # id of an object -> {id of a tensor: kind and text of each link from it to the tensor}
        self.chains = {}     # id of a tensor -> links, outermost first
        for module in list(MODULES.values()):
            if type(module) is MODULE_TYPE:
                names = variables(module)
                file, name = names.get("__file__"), names.get("__name__")
                self.globals[id(names)] = file if type(file) is str else name if type(name) is str else "?"
        others = MODULES["sys"]._current_frames()
        others.pop(thread, None)  # this is our own, which would hold itself
        frames = [outwards(frame)] + [outwards(other) for other in others.values()]
        for frame in sum(frames, []):
            self.running.add(id(frame))
            if frame.f_globals is not globals() and frame.f_code.co_flags & OPTIMIZED:
                for name, value in frame_variables(frame):
                    if self.kinds.of(value) != NOTHING:
                        self.variables.setdefault(id(value), f"{name} of {function_of(frame.f_code)}")

    # Which tensors.

    def old_tensors(self, collector):
        """{bytes: [(tensor, address)]} of what was alive at the last search, too, and has no role."""
        torch = self.look.torch
        groups, addresses = {}, set()
        # An object refers to its class: four times faster than to ask every object for its own.
        for value in collector["get_referrers"](*torch.plain_types):
            if not (type(value) is torch.plain_types[0] or type(value) is torch.plain_types[1]):
                continue
            if id(value) in self.look.named or not torch.is_cuda(value):
                continue
            try:
                address = torch.address(value)
                if not address or address in addresses:
                    continue
                addresses.add(address)
                if was_seen(address):
                    size = torch.nr_elements(value) * torch.element_bytes(value)
                    groups.setdefault(size, []).append((value, address))
            except REFUSALS:
                pass
        return groups

    def choose(self, groups):
        """[(tensor, address)]: of each size one, then a second, the sizes with most bytes first."""
        sizes = sorted(groups, key=lambda size: -size * len(groups[size]))
        most = max([len(group) for group in groups.values()], default=0)
        turns = range(min(most, MOST_ALIKE))
        return [groups[size][turn] for turn in turns for size in sizes if turn < len(groups[size])][:MOST_HELD]

    # The way outwards.

    def search(self, collector):
        chosen = self.choose(self.old_tensors(collector))
        tensors = [tensor for tensor, address in chosen]
        addresses = {id(tensor): address for tensor, address in chosen}
        del chosen
        self.own.update((id(tensors), id(addresses)))
        for tensor in tensors:
            self.links[id(tensor)] = {id(tensor): ()}
        level = [tensor for tensor in tensors if not self.is_root(tensor)]
        for nr in range(MOST_LEVELS):
            if not level or is_late():
                break
            level = self.outwards(level, collector)
        for tensor in tensors:
            links = self.chains.get(id(tensor)) or self.longest(id(tensor))
            self.write(tensor, addresses[id(tensor)], links)

    def longest(self, tensor):
        """As far as the search came."""
        return max([ways[tensor] for ways in self.links.values() if tensor in ways], key=len)

    def outwards(self, level, collector):
        self.own.add(id(level))
        wanted = {id(value) for value in level}
        found = collector["get_referrers"](*level)
        self.own.add(id(found))
        further = []
        self.own.add(id(further))
        for holder in found:
            if id(holder) in self.links or id(holder) in self.own or self.is_ours(holder):
                continue
            ways = self.ways_from(holder, wanted)
            if not ways:
                continue
            self.links[id(holder)] = ways
            if not self.is_root(holder) and len(further) < MOST_AT_A_LEVEL:
                further.append(holder)
        return further

    def is_ours(self, holder):
        if type(holder) is FRAME_TYPE:
            return id(holder) in self.running or holder.f_globals is globals()
        return type(holder) is FUNCTION_TYPE and holder.__globals__ is globals() or holder is self.links

    def ways_from(self, holder, wanted):
        """{id of a tensor: links}: an object may hold one by one of its attributes, another one by another."""
        ways = {}
        for link, child in self.links_from(holder, wanted):
            for tensor, way in self.links[child].items():
                # The dictionary that has an object's attributes is none of the program's.
                whole = (self.attribute(link[1], way[0][1]),) + way[1:] if link[0] == IN_DICTIONARY else (link,) + way
                ways.setdefault(tensor, whole)
        return ways

    def end(self, holder, kind, text_of):
        """The search has come to a root: what it holds needs no further holder."""
        for tensor, way in self.links[id(holder)].items():
            # A module's names, and a class, are named with what they have: the outermost link is part of that.
            self.chains.setdefault(tensor, ((kind, text_of(way[0][1])),) + way[1:])
        return True

    def end_at(self, holder, *root):
        for tensor, way in self.links[id(holder)].items():
            self.chains.setdefault(tensor, root + way)
        return True

    def is_root(self, holder):
        if id(holder) in self.variables:
            return self.end_at(holder, ("variable", self.variables[id(holder)]))
        if id(holder) in self.globals:
            file = self.globals[id(holder)].rpartition("/")[2]
            return self.end(holder, "global", lambda text: f"{text} of {file}")
        if is_below(type(holder), type):
            return self.end(holder, "class", lambda text: text.replace(" of type", " of " + class_name_of(holder)))
        return self.kinds.of(holder) == A_MODULE and self.end_at(holder)

    def links_from(self, holder, wanted):
        """[((kind, text), id of what is held)]"""
        cls, kind = type(holder), self.kinds.of(holder)
        if cls is FRAME_TYPE:
            place = function_of(holder.f_code)
            return [(("frame", f"{name} of {place}"), id(value)) for name, value in frame_variables(holder)
                    if id(value) in wanted]
        if cls is TRACEBACK_TYPE:
            frame = FRAME_OF(holder)
            return [(("traceback", ""), child) for child in (id(frame), id(holder.tb_next)) if child in wanted]
        if cls is CELL_TYPE:
            return [(("cell", ""), id(holder.cell_contents))] if has_contents(holder) else ()
        if cls is FUNCTION_TYPE:
            return self.links_from_function(holder, wanted)
        if is_below(cls, BaseException) and id(TRACEBACK_OF(holder)) in wanted:
            return [(("exception", class_name_of(cls)), id(TRACEBACK_OF(holder)))]
        if kind == A_DICT:
            if dict.__len__(holder) > MOST_LISTED:
                return ()
            return [(("dict", key if type(key) is str else ""), id(value)) for key, value in stored_items(holder)
                    if id(value) in wanted]
        if kind in (A_LIST, A_TUPLE, A_SET):
            base = next(base for base in mro_of(cls) if id(base) in self.kinds.special)
            if base.__len__(holder) > MOST_LISTED:
                return ()
            return [((base.__name__, ""), id(value)) for value in base.__iter__(holder) if id(value) in wanted]
        return self.links_from_object(holder, wanted)

    def links_from_function(self, function, wanted):
        code, inside = function.__code__, function.__closure__ or ()
        place = f"{function_of(code)}:{code.co_firstlineno}"
        if id(inside) in wanted:
            names = [name for name, cell in zip(code.co_freevars, inside) if id(cell) in self.links]
            return [(("closure", f"{', '.join(names)} of {place}"), id(inside))]
        if id(function.__defaults__) in wanted:
            return [(("default", f"of {place}"), id(function.__defaults__))]
        if id(function.__kwdefaults__) in wanted:
            return [(("default", f"of {place}"), id(function.__kwdefaults__))]
        return [(("function", place), id(variables(function)))] if id(variables(function)) in wanted else ()

    def links_from_object(self, holder, wanted):
        """Its attributes, or the dictionary that has them; what has neither is some object of C."""
        name = class_name_of(type(holder))
        inside = variables(holder)
        found = [(self.attribute(name, key), id(value)) for key, value in self.kinds.attributes(holder)
                 if id(value) in wanted]
        if not found and inside is not None and id(inside) in wanted:
            found = [((IN_DICTIONARY, name), id(inside))]
        # What an object of C has.
        held = () if found else variables(MODULES["gc"])["get_referents"](holder)
        return found or [(("object", name), id(value)) for value in held if id(value) in wanted]

    def attribute(self, owner, key):
        is_hook = type(key) is str and key.endswith(REGISTERED)
        return "hook" if is_hook else "attribute", f"{key} of {owner}" if type(key) is str else owner

    # The result.

    def write(self, tensor, address, links):
        """Containers inside functions' own are no news: a closure's tuple, a cell."""
        shown = [link for link in links if link[0] != "cell"]
        shown = [link for nr, link in enumerate(shown)
                 if not (link[0] == "tuple" and nr and shown[nr - 1][0] in ("closure", "default"))]
        shown = [link for nr, link in enumerate(shown) if nr == 0 or link[0] != "traceback" or shown[nr - 1] != link]
        text = " > ".join([f"{kind} {what}" if what else kind for kind, what in shown])
        kinds = ",".join([kind for kind, what in shown])
        self.look.write(tensor, HELD, text[:MOST_TEXT] or "an autograd graph, or C++", kinds or "graph", address)


def search_holders(look, frame, thread):
    """After the look's own records, whose references would be found."""
    if "gc" not in MODULES:
        return
    look.found, look.modules, look.optimizers = [], [], []
    Holders(look, frame, thread).search(variables(MODULES["gc"]))
