# SPDX-License-Identifier: MIT
"""A parent and its fork child use the device, each for itself; the child was forked before CUDA was in use."""
import ctypes
import os
import sys

import torch

mark = ctypes.CDLL(None).vtrace_mark


def child():
    childs = torch.zeros(1 << 20, device="cuda")
    mark(b"child")
    return childs


def main():
    pid = os.fork()
    if pid == 0:
        child()
        return
    parents = torch.zeros(1 << 20, device="cuda")
    mark(b"parent")
    _, status = os.waitpid(pid, 0)
    del parents
    sys.exit(status)


main()
