# SPDX-License-Identifier: MIT
"""The cases, read from their files without importing them."""
import ast
import pathlib
from dataclasses import dataclass, field

# What the command itself needs of a case's options; the others are the oracle's.
READ = ("family", "mode", "device", "env", "hard", "needs")
FOLDER = pathlib.Path(__file__).resolve().parent / "cases"


@dataclass
class Entry:
    name: str
    file: pathlib.Path
    options: dict = field(default_factory=dict)


def read_file(path):
    for node in ast.parse(path.read_text()).body:
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "case":
                yield Entry(node.name, path, {k.arg: ast.literal_eval(k.value) for k in decorator.keywords
                                              if k.arg in READ})


def read():
    """{name: entry}, in the order of the files."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for entry in read_file(path):
            if entry.name in found:
                raise SystemExit(f"two cases are called {entry.name}")
            found[entry.name] = entry
    return found
