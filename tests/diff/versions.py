# SPDX-License-Identifier: MIT
"""A program's source whose lines keep their identity through edits: what the same line is, is known by construction."""
import ast
import itertools
from dataclasses import dataclass, replace

MAIN = "train.py"
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete, ast.Import, ast.ImportFrom,
          ast.Assert, ast.Raise, ast.Pass)

_fresh = itertools.count(1_000_000)


@dataclass(frozen=True)
class Line:
    text: str
    id: int | None  # None: a call that an edit put in between; it is no place

    @property
    def indent(self):
        return self.text[:len(self.text) - len(self.text.lstrip())]


def fresh(*texts, transparent=False):
    """Lines that are in no other version."""
    return [Line(text, None if transparent else next(_fresh)) for text in texts]


class Impossible(Exception):
    """The edit does not apply to this program."""


@dataclass(frozen=True)
class Version:
    files: dict  # name: tuple of Line
    main: str = MAIN

    @classmethod
    def of(cls, text):
        lines = [Line(line, number) for number, line in enumerate(text.splitlines(), 1)]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, SIMPLE):  # a statement over several lines is one place
                for at in range(node.lineno, node.end_lineno):
                    lines[at] = Line(lines[at].text, node.lineno)
        return cls({MAIN: tuple(lines)})

    def text(self, name=None):
        return "\n".join(line.text for line in self.files[name or self.main]) + "\n"

    def lines(self):
        return list(self.files[self.main])

    def tree(self):
        return ast.parse(self.text())

    def with_lines(self, lines, name=None):
        return replace(self, files={**self.files, name or self.main: tuple(lines)})

    def insert(self, number, lines):
        """Before line `number`, counted from 1."""
        mine = self.lines()
        return self.with_lines(mine[:number - 1] + list(lines) + mine[number - 1:])

    def replaced(self, first, last, lines):
        mine = self.lines()
        return self.with_lines(mine[:first - 1] + list(lines) + mine[last:])

    def id_at(self, name, number):
        lines = self.files.get(name)
        return lines[number - 1].id if lines and 0 < number <= len(lines) else None

    def key(self):
        return self.main, tuple((name, self.text(name)) for name in sorted(self.files))

    def write(self, folder):
        for old in folder.glob("*.py"):
            old.unlink()
        for name in self.files:
            (folder / name).write_text(self.text(name))
