# SPDX-License-Identifier: MIT
"""A CUDA program without a framework that does what it is told on standard input, one line at a time:
`alloc N` N allocations of 1 MiB, `free N` the last N, `load N` modules, `kill SIGNAL`,
`quit CODE` by _exit. It answers "done"."""
import ctypes
import os
import sys

MIB = 1 << 20


def ok(result):
    assert result == 0, result


def connect():
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    ok(cuda.cuInit(0))
    ok(cuda.cuDeviceGet(ctypes.byref(device), 0))
    ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    ok(cuda.cuCtxSetCurrent(context))
    return cuda


def allocate(cuda, size_bytes=MIB):
    pointer = ctypes.c_uint64()
    ok(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size_bytes)))
    return pointer


def main():
    cuda, held = connect(), []
    for line in sys.stdin:
        command, number = line.split()
        if command == "alloc":
            held += [allocate(cuda) for _ in range(int(number))]
        elif command == "free":
            for _ in range(int(number)):
                ok(cuda.cuMemFree_v2(held.pop()))
        elif command == "load":
            for _ in range(int(number)):
                ok(cuda.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), b"code"))
        elif command == "kill":
            os.kill(os.getpid(), int(number))
        elif command == "quit":
            os._exit(int(number))
        print("done", flush=True)


if __name__ == "__main__":
    main()
