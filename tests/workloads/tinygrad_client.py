# SPDX-License-Identifier: MIT
"""A program on tinygrad, which calls the driver through ctypes: buffers, one of them given back."""
from tinygrad import Device, dtypes
from tinygrad.device import Buffer


def take_batch(number):
    return Buffer("CUDA", 1000 * number, dtypes.float).allocate()


def main():
    batches = [take_batch(number) for number in range(1, 6)]
    del batches[1]
    batches.append(take_batch(3))
    Device["CUDA"].synchronize()
    return batches


if __name__ == "__main__":
    main()
