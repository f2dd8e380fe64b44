# SPDX-License-Identifier: MIT
"""Figures of tests, kept beside them: test_model.py has test_model.vtrace.json."""
import json
import os

FORMAT = 1


def path_of(item):
    return item.path.with_suffix(".vtrace.json")


def name_in(item):
    return item.nodeid.split("::", 1)[-1]


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["tests"]
    except FileNotFoundError:
        return {}


def update(path, figures):
    """Keeps what other tests have there; written whole or not at all."""
    tests = {**read(path), **figures}
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "tests": tests}, file, indent=1, sort_keys=True)
        file.write("\n")
    os.replace(draft, path)
