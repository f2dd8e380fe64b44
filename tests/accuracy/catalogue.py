# SPDX-License-Identifier: MIT
"""The cases, read from their files without importing them."""
import ast
import pathlib
from dataclasses import dataclass, field

# What the command itself needs of a case's options; the others are the oracle's.
READ = ("family", "mode", "device", "env", "hard", "needs", "ranks", "steps", "micro_batches", "stages", "quick",
        "source")
HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "cases"


@dataclass
class Entry:
    name: str
    file: pathlib.Path
    options: dict = field(default_factory=dict)
    oracle: pathlib.Path = HERE / "oracle"  # the folder whose main.py observes the case


def read_file(path, oracle):
    for node in ast.parse(path.read_text()).body:
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "case":
                options = {k.arg: ast.literal_eval(k.value) for k in decorator.keywords if k.arg in READ}
                yield Entry(node.name, path, options, oracle)


def read(folder=FOLDER, oracle=HERE / "oracle"):
    """{name: entry}, in the order of the files."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        for entry in read_file(path, oracle):
            if entry.name in found:
                raise SystemExit(f"two cases are called {entry.name}")
            found[entry.name] = entry
    return found
