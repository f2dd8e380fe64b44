# SPDX-License-Identifier: MIT
"""A program on CuPy: its pool, its stream-ordered pool, pinned memory, a kernel compiled at run time, cuBLAS."""
import cupy
import numpy

MIB = 1 << 20


def take_batch():
    return cupy.asarray(numpy.ones(3 * MIB, dtype=numpy.uint8))


def main():
    first = take_batch()
    made = cupy.zeros((512, 1024), cupy.float32)
    summed = made + 1
    product = made @ made.T
    del first
    # The pool gives back what no array holds.
    cupy.get_default_memory_pool().free_all_blocks()
    second = take_batch()
    pinned = cupy.cuda.alloc_pinned_memory(4 * MIB)
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    ordered = cupy.empty(5 * MIB, cupy.uint8)
    del ordered
    kept = cupy.empty(6 * MIB, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()
    return summed, product, second, pinned, kept


if __name__ == "__main__":
    main()
