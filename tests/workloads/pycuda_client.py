# SPDX-License-Identifier: MIT
"""A program on PyCUDA: device, pitched, pooled and pinned memory, an array, some of it freed."""
import numpy
import pycuda.driver as cuda
from pycuda import tools

MIB = 1 << 20


def take_batch():
    return cuda.to_device(numpy.ones(3 * MIB, dtype=numpy.uint8))


def main():
    cuda.init()
    context = cuda.Device(0).make_context()
    first = take_batch()
    pitched, _ = cuda.mem_alloc_pitch(1000, 64, 4)
    pool = tools.DeviceMemoryPool()
    pooled = pool.allocate(MIB)
    pinned = cuda.pagelocked_empty(MIB, numpy.uint8)
    first.free()
    second = take_batch()
    pooled.free()
    pool.free_held()
    kept = second, pitched, pinned
    context.pop()
    return kept


if __name__ == "__main__":
    main()
