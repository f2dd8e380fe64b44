# SPDX-License-Identifier: MIT
"""A program on JAX: arrays that XLA's allocator holds, as it grows. Nothing is compiled: that asks for ptxas."""
import os

os.environ.update(JAX_PLATFORMS="cuda", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")

import numpy  # noqa: E402
from jax._src import hardware_utils  # noqa: E402

# It looks for /dev/nvidia* before it asks the driver.
hardware_utils.has_visible_nvidia_gpu = lambda: True

import jax  # noqa: E402


def take_batch(number):
    return jax.device_put(numpy.ones((1000, 1000 * number), numpy.float32)).block_until_ready()


def main():
    batches = [take_batch(number) for number in range(1, 5)]
    batches[0].delete()
    return batches


if __name__ == "__main__":
    main()
