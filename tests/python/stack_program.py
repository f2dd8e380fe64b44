# SPDX-License-Identifier: MIT
"""Captures its own stack with the recorder's code in many situations, and compares with the interpreter.

    python stack_program.py LIBRARY [timing]

Runs under any Python from 3.9 on. Prints one line per situation; exit code 1 if any was wrong. The
oracle is the interpreter itself: sys._getframe, f_lasti, f_lineno, co_lines.
"""
import asyncio
import ctypes
import dis
import functools
import gc
import sys
import threading

MOST_FRAMES = 512
NO_INSTRUCTION = 0xFFFFFFFF


class Frame(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint32), ("instruction", ctypes.c_uint32), ("self_type", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("self_address", ctypes.c_uint64)]


probe = ctypes.CDLL(sys.argv[1])
probe.probe_code.restype = probe.probe_string.restype = ctypes.c_void_p
probe.probe_version.restype = ctypes.c_char_p
probe.probe_time.restype = ctypes.c_double
probe.probe_count.restype = ctypes.c_size_t
assert probe.probe_start() == 0

failures = []


def check(situation, condition, what=""):
    if not condition:
        failures.append(situation)
        print(f"WRONG {situation}: {what}")


@functools.lru_cache(None)
def string(number):
    address = probe.probe_string(number)
    length = ctypes.c_uint32.from_address(address + 20).value
    return ctypes.string_at(address + 24, length).decode()


@functools.lru_cache(None)
def code_of(number):
    """(file, name, first line, line table, Python's minor version) of a code record."""
    address = probe.probe_code(number)
    first = ctypes.c_uint32.from_address(address + 20).value
    minor = ctypes.c_uint16.from_address(address + 24).value
    lengths = [ctypes.c_uint32.from_address(address + 28 + 4 * i).value for i in range(3)]
    text = ctypes.string_at(address + 40, sum(lengths))
    file, name, table = (text[sum(lengths[:i]):sum(lengths[:i + 1])] for i in range(3))
    return file.decode(), name.decode(), first, table, minor


def capture():
    """(captured frames, the interpreter's own frames), both without this function."""
    frames = (Frame * MOST_FRAMES)()
    number = probe.probe_capture(frames)
    own, frame = [], sys._getframe(1)
    while frame:
        own.append((frame.f_code, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return frames[1:number], own


def line_at(code, instruction):
    """What PyCode_Addr2Line would say."""
    if hasattr(code, "co_lines"):
        found = [line for start, end, line in code.co_lines() if start <= instruction < end]
        return found[-1] if found else None
    found = [line for start, line in dis.findlinestarts(code) if start <= instruction]
    return found[-1] if found else code.co_firstlineno


def clean(text):
    """As the recorder writes it: a lone surrogate is no character."""
    return "".join("\ufffd" if 0xd800 <= ord(c) < 0xe000 else c for c in text)


def compare(situation, captured, own):
    """Everything about every frame but `self`."""
    check(situation, len(captured) == min(len(own), MOST_FRAMES - 1), f"{len(captured)} of {len(own)} frames")
    for depth, (got, (code, lasti, line)) in enumerate(zip(captured, own)):
        file, name, first, table, minor = code_of(got.code)
        check(situation, file == clean(code.co_filename), f"file {file!r}, not {code.co_filename!r}")
        wanted = clean(getattr(code, "co_qualname", code.co_name))
        check(situation, name == wanted, f"name {name!r}, not {wanted!r}")
        check(situation, first == code.co_firstlineno, f"first line {first}")
        check(situation, minor == sys.version_info[1], f"minor {minor}")
        wanted = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
        check(situation, table == wanted[:len(table)] and len(table) >= min(len(wanted), 50000), "line table")
        check(situation, line_at(code, got.instruction) == line, f"line of {got.instruction} in {name}, not {line}")
        # The innermost has gone on from one call to the next since.
        if depth > 0:
            check(situation, got.instruction == lasti, f"instruction {got.instruction}, not {lasti}, in {name}")


def situation(function):
    """Runs a situation: what it returns is compared; more is checked inside."""
    before = len(failures)
    result = function()
    if result is not None:
        compare(function.__name__, *result)
    if len(failures) == before:
        print(f"ok {function.__name__}")
    return function


def selves(captured):
    return [(string(f.self_type), f.self_address) for f in captured if f.self_type]


class Module:
    """Stands for torch.nn.Module: the recorder goes by the name."""

    def run(self):
        return capture()

    def run_in_cell(self, *args, **kwargs):
        def inner():
            return capture(), self
        return inner()[0]


class Optimizer:
    def step(self):
        return capture()


class Mixin:
    pass


class Linear(Module):
    pass


class Block(Mixin, Linear):
    def run(self):
        return super().run()


class Plain:
    def run(self):
        return capture()


Übergang = type("Übergang", (Module,), {})


@situation
def plain_function():
    return capture()


@situation
def functions_on_several_lines():
    def inner(first, second):
        return second

    return inner(
        None,
        capture(
        ),
    )


@situation
def module_is_seen():
    module = Linear()
    result = module.run()
    check("module_is_seen", selves(result[0]) == [("Linear", id(module))], selves(result[0]))
    return result


@situation
def module_behind_a_mixin_is_seen():
    module = Block()
    result = module.run()
    check("module_behind_a_mixin_is_seen", selves(result[0]) == [("Block", id(module))] * 2, selves(result[0]))
    return result


@situation
def module_in_a_cell_is_seen():
    module = Linear()
    result = module.run_in_cell(1, two=2)
    check("module_in_a_cell_is_seen", selves(result[0]) == [("Linear", id(module))], selves(result[0]))
    return result


@situation
def optimizer_is_seen():
    class Adam(Optimizer):
        pass

    optimizer = Adam()
    result = optimizer.step()
    check("optimizer_is_seen", selves(result[0]) == [("Adam", id(optimizer))], selves(result[0]))
    return result


@situation
def name_of_a_class_that_is_not_ascii():
    result = Übergang().run()
    check("name_of_a_class_that_is_not_ascii", [name for name, _ in selves(result[0])] == ["Übergang"])
    return result


@situation
def other_objects_are_not():
    result = Plain().run()
    check("other_objects_are_not", selves(result[0]) == [], selves(result[0]))

    def first_argument(anything):
        return capture()

    for anything in (None, 1, [], int, Module, "Module"):
        result = first_argument(anything)
        check("other_objects_are_not", selves(result[0]) == [], anything)
    return result


@situation
def argument_that_was_deleted():
    def forget(self):
        del self
        return capture()

    return forget(Linear())


@situation
def class_that_replaces_a_freed_one():
    for number in range(200):
        base = Module if number % 2 else Plain
        kind = type(f"Made{number}", (base,), {})
        found = selves(kind().run()[0])
        wanted = [f"Made{number}"] if base is Module else []
        check("class_that_replaces_a_freed_one", [name for name, _ in found] == wanted, (number, found))
        del kind
        gc.collect()


@situation
def code_that_replaces_freed_code():
    for number in range(300):
        space = {"capture": capture}
        head, body = "\n" * (number % 7), "    pass\n" * (number % 5)
        source = f"{head}def made_{number % 3}():\n{body}    return capture()\n"
        exec(compile(source, f"made-{number % 2}.py", "exec"), space)
        compare("code_that_replaces_freed_code", *space[f"made_{number % 3}"]())
        del space


@situation
def names_that_are_not_ascii():
    for word in ("café", "模型", "𝓜odel", "ж" * 300):
        space = {"capture": capture}
        exec(compile(f"def {word}():\n    return capture()\n", f"/{word}/\udce9.py", "exec"), space)
        compare("names_that_are_not_ascii", *next(v for k, v in space.items() if callable(v) and v is not capture)())


@situation
def generator():
    def values():
        yield capture()

    return next(values())


@situation
def generator_delegating():
    def values():
        yield capture()

    def outer():
        yield from values()

    return [x for x in outer()][0]


@situation
def coroutine():
    async def inner():
        await asyncio.sleep(0)
        return capture()

    async def outer():
        return await inner()

    return asyncio.run(outer())


@situation
def asynchronous_generator():
    async def values():
        for _ in range(2):
            await asyncio.sleep(0)
            yield capture()

    async def outer():
        async for value in values():
            return value

    return asyncio.run(outer())


@situation
def called_from_c():
    result = []
    sorted([2, 1], key=lambda x: result.append(capture()) or x)
    list(map(lambda _: result.append(capture()), [1]))
    functools.reduce(lambda a, b: result.append(capture()), [1, 2])
    for each in result:
        compare("called_from_c", *each)


@situation
def comprehension_and_class_body():
    compare("comprehension_and_class_body", *[capture() for _ in range(2)][1])
    compare("comprehension_and_class_body", *{1: capture() for _ in range(2)}[1])

    class Body:
        result = capture()

    return Body.result


@situation
def finalizer():
    result = []

    class Finalized:
        def __init__(self):
            self.me = self

        def __del__(self):
            result.append(capture())

    Finalized()
    gc.collect()
    return result[0]


@situation
def while_an_exception_is_handled():
    try:
        raise ValueError
    except ValueError:
        try:
            return capture()
        finally:
            gc.collect()


@situation
def traced_function():
    sys.settrace(lambda *_: None)
    try:
        result = capture()
    finally:
        sys.settrace(None)
    return result


@situation
def deep_recursion():
    def down(depth):
        return capture() if depth == 0 else down(depth - 1)

    sys.setrecursionlimit(5000)
    for depth in (20, 400, 510, 511, 600, 2000):
        compare("deep_recursion", *down(depth))


@situation
def function_with_a_long_table():
    space = {"capture": capture}
    lines = "".join(f"    x = [{number},\n         0]\n" for number in range(9000))
    exec(f"def long():\n    got = capture()\n{lines}    return got\n", space)
    result = space["long"]()
    check("function_with_a_long_table", len(code_of(result[0][0].code)[3]) > 30000)
    return result


@situation
def many_threads():
    results = []

    def work(number):
        for _ in range(200):
            module = Block()
            result = module.run()
            if selves(result[0])[0][1] != id(module):
                check("many_threads", False, "somebody else's module")
        results.append(result)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("many_threads", len(results) == 8)
    for result in results:
        compare("many_threads", *result)


@situation
def nothing_new_the_second_time():
    def twice():
        return [capture() for _ in range(3)]

    twice()
    before = probe.probe_count()
    twice()
    check("nothing_new_the_second_time", probe.probe_count() == before, f"{probe.probe_count() - before} new records")


@situation
def version_is_known():
    wanted = ".".join(map(str, sys.version_info[:3]))
    check("version_is_known", probe.probe_version().decode().startswith(wanted), probe.probe_version())


if "timing" in sys.argv:
    def at_depth(self, depth):
        return at_depth(self, depth - 1) if depth else min(probe.probe_time(20000) for _ in range(50))

    print(f"20 frames, {at_depth(None, 17):.0f} ns without modules")
    print(f"20 frames, {at_depth(Linear(), 17):.0f} ns with a module in each")

sys.exit(1 if failures else 0)
