# SPDX-License-Identifier: MIT
"""A program on numba's CUDA target: arrays that are copied and made there, one of them given back."""
import numpy
from numba import cuda


def take_batch():
    return cuda.to_device(numpy.ones(1 << 20, dtype=numpy.float32))


def main():
    first = take_batch()
    made = cuda.device_array(1 << 21, dtype=numpy.float32)
    del first
    # numba collects what is to be freed.
    cuda.current_context().deallocations.clear()
    second = take_batch()
    return made, second


if __name__ == "__main__":
    main()
