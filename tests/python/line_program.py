# SPDX-License-Identifier: MIT
"""Asks the driver for memory from lines that are hard to get right; prints the lines as the interpreter knows them.

Runs under any Python from 3.9 on. Each request has its own size in MiB; printed is a JSON object
{"SIZE": [[function, line], ...]}, innermost first, without the function that asks.
"""
import ctypes
import json
import sys

driver = ctypes.CDLL("libcuda.so.1")
wanted = {}


def start():
    context = ctypes.c_void_p()
    for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                   driver.cuCtxSetCurrent(context)):
        assert result == 0, result


def allocate(mib):
    pointer = ctypes.c_uint64()
    result = driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(mib << 20))
    assert result == 0, result
    frames, frame = [], sys._getframe(1)
    while frame:
        frames.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    wanted[mib] = frames


def spread(first,
           second):
    for number in range(2):
        try:
            if number: allocate(
                1
                + 0)
        finally:
            pass
    return [
        allocate(size)
        for size in
        (2, 3)
    ]


def generator():
    size = yield
    with open("/dev/null"):
        allocate(size
                 )
    yield


async def coroutine():
    allocate(10)


def backwards():
    return (allocate(11) or
            5, allocate(12),
   allocate(13))


start()
spread(1,
       2)
values = generator()
next(values)
values.send(4)


class Body:
    allocate(5)

    @staticmethod
    @(lambda function: (allocate(6), function)[1])
    def method():
        pass


(lambda:
    allocate(7))()
# Steps of more than a byte, to both sides.
exec("\n" * 1000 + "def far():\n  pass\n  allocate(8)\n" + "\n" * 400 + "  pass;allocate(9)\nfar()\n")
try:
    coroutine().send(None)
except StopIteration:
    pass
backwards()
print(json.dumps(wanted))
