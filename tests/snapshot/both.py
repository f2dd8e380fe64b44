# SPDX-License-Identifier: MIT
"""Run a program with PyTorch's own memory history, whatever it is called in this release.

    both.py SNAPSHOT PROGRAM [ARGUMENT...]

The program has its output in SNAPSHOT when it ends, or fails.
"""
import inspect
import pathlib
import pickle
import runpy
import sys

import torch


def start():
    record = torch.cuda.memory._record_memory_history
    known = inspect.signature(record).parameters
    if "trace_alloc_max_entries" in known:  # 2.0; C++ frames take it minutes
        for device in range(torch.cuda.device_count()):
            record(True, record_context=True, trace_alloc_max_entries=10**6, trace_alloc_record_context=True,
                   device=device)
    else:
        record(max_entries=10**6)


def main():
    output, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = str(pathlib.Path(program).parent)
    start()
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        with open(output, "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)


main()
