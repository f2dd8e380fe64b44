# SPDX-License-Identifier: MIT
"""A Python program without PyTorch that asks the driver for memory, through ctypes, from several kinds of frames."""
import ctypes
import json
import sys
import threading

driver = ctypes.CDLL("libcuda.so.1")
lines = {}


def checked(result):
    assert result == 0, result


def allocate(size):
    pointer = ctypes.c_uint64()
    checked(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer


class Module:
    """The recorder knows modules by the name of a base class."""


class Network(Module):
    def forward(self):
        lines["forward"] = sys._getframe().f_lineno + 1
        return [allocate(1 << 20) for _ in range(1)]


def generator():
    lines["generator"] = sys._getframe().f_lineno + 1
    yield allocate(2 << 20)


def in_thread(context):
    checked(driver.cuCtxSetCurrent(context))
    lines["thread"] = sys._getframe().f_lineno + 1
    allocate(3 << 20)


def recurse(depth):
    return recurse(depth - 1) if depth else allocate(4 << 20)


def main():
    checked(driver.cuInit(0))
    context = ctypes.c_void_p()
    checked(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    checked(driver.cuCtxSetCurrent(context))
    network = Network()
    network.forward()
    next(generator())
    thread = threading.Thread(target=in_thread, args=(context,))
    thread.start()
    thread.join()
    sys.setrecursionlimit(3000)
    recurse(700)
    print(json.dumps({"lines": lines, "network": id(network)}))


if __name__ == "__main__":
    main()
