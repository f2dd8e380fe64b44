# SPDX-License-Identifier: MIT
"""Run a case with a pluggable allocator: pluggable.py LIBRARY FILE CASE."""
import pathlib
import runpy
import sys

import torch


def main():
    library, file = sys.argv[1:3]
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "plain_alloc", "plain_free")
    torch.cuda.memory.change_current_allocator(allocator)
    sys.argv[:] = sys.argv[2:]
    sys.path[0] = str(pathlib.Path(file).parent)
    runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    main()
