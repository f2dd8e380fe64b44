# SPDX-License-Identifier: MIT
"""Runs many versions of programs, each in a fork of a process that has imported PyTorch: most of a short run is that.

    forks.py JOBS    a JSON list of {"files": {name: text}, "main": name, "arguments": [...]}, the last if there are
                     any; prints the process id and exit code of each

All are written over each other in the working directory: what was recorded first is not there any more, as in a
checkout.
"""
import gc
import json
import os
import pathlib
import runpy
import sys
import traceback

import torch
import torch._dynamo  # optimizers import it
import torch.nn
import torch.optim
import torch.utils.checkpoint  # noqa: F401


def child(main, arguments):
    code = 0
    log = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = [main, *arguments]
    sys.path[0] = os.getcwd()
    try:
        runpy.run_path(str(pathlib.Path(main).absolute()), run_name="__main__")
    except BaseException:  # noqa: B902  whatever a version ends with
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.exit(code)


def main():
    sys.dont_write_bytecode = True
    folder = pathlib.Path.cwd()
    gc.collect()
    gc.freeze()  # a child's end does not look at all of PyTorch
    for job in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        for old in folder.glob("*.py"):
            old.unlink()
        for name, text in job["files"].items():
            (folder / name).write_text(text)
        pid = os.fork()
        if not pid:
            child(job["main"], job.get("arguments", []))
        print(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


main()
