# SPDX-License-Identifier: MIT
"""Captures its own stack with the recorder's code in many situations, and compares with the interpreter.

    python stack_program.py LIBRARY [timing]

Runs under any Python from 3.9 on. Prints one line per situation; exit code 1 if any was wrong. The
oracle is the interpreter itself: sys._getframe, f_lasti, f_lineno, co_lines.
"""
import _thread
import asyncio
import functools
import gc
import sys
import threading

from random_calls import climb
from stack_capture import (Block, Linear, Module, Optimizer, Plain, capture, check, code_of,
                           compare, failures, probe, selves, situation, Übergang)


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
def what_found_no_room_is_recorded_when_there_is_some():
    class Newcomer(Module):
        def run(self):
            return capture()

    module = Newcomer()
    # The same frames again and again, as in a loop: often enough for both memories.
    for i in range(64):
        probe.probe_fill(i < 32)
        result = module.run()
        if i >= 32:
            check("what_found_no_room_is_recorded_when_there_is_some",
                  result[0] and all(frame.code for frame in result[0])
                  and selves(result[0]) == [("Newcomer", id(module))], f"capture {i}")
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
def optimizer_of_another_library_is_not():
    class Root:
        pass

    base = type("Optimizer", (Root,), {"step": Optimizer.step})
    result = type("Search", (base,), {})().step()
    check("optimizer_of_another_library_is_not", selves(result[0]) == [], selves(result[0]))
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
def code_that_differs_in_its_name():
    """Which is so short-lived that it often lies where the last one was."""
    def made():
        return capture()

    template, places = made.__code__, set()
    names = ("co_name", "co_qualname") if sys.version_info >= (3, 11) else ("co_name",)
    for number in range(300):
        made.__code__ = template
        made.__code__ = template.replace(**dict.fromkeys(names, f"made_{number:03}"))
        places.add((id(made.__code__), id(made.__code__.co_name)))
        compare("code_that_differs_in_its_name", *made())
    check("code_that_differs_in_its_name", len(places) < 100, f"{len(places)} places")


@situation
def code_that_differs_in_its_last_letters():
    """Only its file's name is another one, and so short-lived that both often lie where the last ones were."""
    def made():
        return capture()

    template, places = made.__code__, set()
    for number in range(300):
        made.__code__ = template
        made.__code__ = template.replace(co_filename=f"/somewhere/made-{number:03}.py")
        places.add((id(made.__code__), id(made.__code__.co_filename)))
        compare("code_that_differs_in_its_last_letters", *made())
    # Until 3.10 they do not.
    is_tried = len(places) < 100 or sys.version_info < (3, 11)
    check("code_that_differs_in_its_last_letters", is_tried, f"{len(places)} places")


@situation
def argument_of_another_class_at_the_same_place():
    def first_argument(anything):
        return capture()

    argument, keys = Linear(), set()
    for number in range(200):
        kind = type(f"Made{number}", (Module,), {})
        argument.__class__ = kind
        del kind
        found = [name for name, _ in selves(first_argument(argument)[0])]
        keys.add((probe.probe_key(0), probe.probe_key(1)))
        check("argument_of_another_class_at_the_same_place", found == [f"Made{number}"], f"{found}, not Made{number}")
        argument.__class__ = Linear
        gc.collect()
    # All but the class is the same: stacks of two classes must not be one.
    check("argument_of_another_class_at_the_same_place", len(keys) == 200, f"{len(keys)} keys")


@situation
def other_module_in_the_same_cell():
    places = set()

    class InCell(Linear):
        def run(self):
            def inner():
                return capture(), self

            places.add(id(inner.__closure__[0]))
            return inner()[0]

    for module in [InCell() for _ in range(50)]:
        result = module.run()
        check("other_module_in_the_same_cell", selves(result[0]) == [("InCell", id(module))], selves(result[0]))
    check("other_module_in_the_same_cell", len(places) < 25, f"{len(places)} places")
    return result


@situation
def generator_at_the_bottom_of_a_thread():
    """In the same memory as before, with nothing outside of it; every 64th thread uses what this one remembers."""
    def values():
        while True:
            result.append(capture())
            done.release()
            yield

    result, done, generator = [], threading.Semaphore(0), values()
    for _ in range(130):
        next(generator)
        done.acquire()
        result.clear()
        _thread.start_new_thread(next, (generator,))
        done.acquire()
        compare("generator_at_the_bottom_of_a_thread", *result[0])
        while generator.gi_running:
            pass


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
def random_calls():
    for seed in range(8):
        climb(seed, 400)


@situation
def random_calls_in_threads():
    for turn in range(2):
        threads = [threading.Thread(target=climb, args=(100 * turn + i, 100)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


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
