# SPDX-License-Identifier: MIT
"""Runs a case of tests/accuracy/cases with data of another size: resized.py FILE CASE BxS [BxS]

Whoever makes random data with those leading sides (rows, then tokens) gets the others in their place.
"""
import importlib.util
import sys

import torch

MAKERS = ("randint", "randn", "rand")  # what makes data; parameters are made otherwise


def sides(text):
    return tuple(int(side) for side in text.split("x"))


def resized(make, was, new):
    def changed(*arguments, **keywords):
        def change(value):
            if isinstance(value, (tuple, list, torch.Size)) and tuple(value[:len(was)]) == was:
                return (*new, *value[len(was):])
            return value

        arguments = [change(value) for value in arguments]
        if tuple(arguments[:len(was)]) == was:  # torch.randn(8, 256, ...)
            arguments[:len(was)] = new
        if "size" in keywords:
            keywords["size"] = change(keywords["size"])
        return make(*arguments, **keywords)

    return changed


def main():
    path, case, was, *rest = sys.argv[1:]
    if rest:
        for name in MAKERS:
            setattr(torch, name, resized(getattr(torch, name), sides(was), sides(rest[0])))
    sys.path.insert(0, str(path.rpartition("/")[0]))
    spec = importlib.util.spec_from_file_location("case_file", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main.__globals__["CASES"][case][0]()
    print(f'{{"peak_allocated_bytes": {torch.cuda.max_memory_allocated()}}}')


if __name__ == "__main__":
    main()
