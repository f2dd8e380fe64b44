# SPDX-License-Identifier: MIT
"""Random trees of calls whose leaves capture their stack: what stack_program.py runs beside its situations."""
import functools
import random
import sys

from stack_capture import Block, Linear, Module, Plain, capture, check, code_of, probe, selves

TABLE = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"


class Climber:
    """
    Calls itself in all kinds of ways, and captures at the leaves: frames, code, classes and objects come, go and come
    again at the same addresses. What each frame works for is kept beside, innermost last.
    """
    ways = ("plain", "module", "in_cell", "other_module", "generator", "delegate", "coroutine", "from_c", "made",
            "made_class", "comprehension", "loop", "leave")

    def __init__(self, seed, leaves):
        self.random, self.left, self.selves = random.Random(seed), leaves, []
        self.modules = [Linear(), Linear(), Block()]
        self.wrong, self.by_key, self.keys = [], {}, {}

    def climb(self, depth):
        while self.left > 0 and (depth == 0 or self.random.random() < 0.7):
            if depth >= 24 or self.random.random() < 0.3:
                self.leaf()
            else:
                getattr(self, self.random.choice(self.ways))(depth + 1)

    def leaf(self):
        self.left -= 1
        captured, own = capture()
        key = probe.probe_key(0), probe.probe_key(1)
        seen = tuple((f.code, f.instruction, f.self_type, f.self_address) for f in captured)
        # The key is of all frames, those of capture() too, which are always the same.
        if self.by_key.setdefault(key, seen) != seen or self.keys.setdefault(seen, key) != key:
            self.wrong.append("one key for two stacks, or two for one")
        found = [(*code_of(f.code)[:4], f.instruction) for f in captured]
        wanted = [(c.co_filename, getattr(c, "co_qualname", c.co_name), c.co_firstlineno, getattr(c, TABLE), lasti)
                  for c, lasti, _ in own]
        if found[1:] != wanted[1:] or found[0][:4] != wanted[0][:4]:
            self.wrong.append("frames")
        if selves(captured) != self.selves[::-1]:
            self.wrong.append(f"{selves(captured)}, not {self.selves[::-1]}")

    def as_module(self, module, depth, call):
        self.selves.append((type(module).__name__, id(module)))
        try:
            call(module, depth, self)
        finally:
            self.selves.pop()

    def plain(self, depth):
        self.climb(depth)

    def module(self, depth):
        self.as_module(self.random.choice(self.modules), depth, lambda_on_module)

    def other_module(self, depth):
        self.as_module(Block(), depth, lambda_on_module)

    def in_cell(self, depth):
        self.as_module(self.random.choice(self.modules), depth, in_cell_of_module)

    def generator(self, depth):
        def values():
            yield self.climb(depth)
            yield self.climb(depth)

        for _ in values():
            if self.random.random() < 0.5:
                break

    def delegate(self, depth):
        def inner():
            yield self.climb(depth)

        def outer():
            yield from inner()

        list(outer())

    def coroutine(self, depth):
        async def inner():
            self.climb(depth)

        async def outer():
            await inner()

        try:
            outer().send(None)
        except StopIteration:
            pass

    def from_c(self, depth):
        functools.reduce(lambda a, b: self.climb(depth), [1, 2])

    def made(self, depth):
        space, number, name = {}, self.random.randrange(4), f"made_{self.random.randrange(4)}"
        body = "    pass\n" * (number % 3)
        source = f"def {name}(climber, depth):\n{body}    climber.climb(depth)\n"
        exec(compile(source, f"made-{number}.py", "exec"), space)
        space[name](self, depth)

    def made_class(self, depth):
        if self.random.random() < 0.5:
            kind = type(f"Made{self.random.randrange(4)}", (Module,), {})
            self.as_module(kind(), depth, lambda_on_module)
        else:
            lambda_on_module(type(f"Made{self.random.randrange(4)}", (Plain,), {})(), depth, self)

    def comprehension(self, depth):
        return [self.climb(depth) for _ in range(self.random.randrange(3))]

    def loop(self, depth):
        for _ in range(3):
            self.climb(depth)
            self.climb(depth)

    def leave(self, depth):
        """Unwinds several frames at once."""
        try:
            self.thrower(depth)
        except ValueError:
            self.climb(depth)

    def thrower(self, depth):
        self.climb(depth)
        raise ValueError


def lambda_on_module(module, depth, climber):
    climber.climb(depth)


def in_cell_of_module(module, depth, climber):
    def inner():
        climber.climb(depth)
        return module

    inner()


def climb(seed, leaves):
    climber = Climber(seed, leaves)
    climber.climb(0)
    check("random_calls", not climber.wrong, f"seed {seed}: {len(climber.wrong)} of {leaves}: {climber.wrong[:3]}")
    check("random_calls", climber.left <= 0)
