# SPDX-License-Identifier: MIT
"""A program on NVIDIA's cuda-python: device, stream-ordered and pinned memory, some of it freed."""
from cuda.bindings import driver

MIB = 1 << 20


def done(result):
    assert result[0] == driver.CUresult.CUDA_SUCCESS, result
    return result[1] if len(result) == 2 else None


def take_batch():
    return done(driver.cuMemAlloc(3 * MIB))


def main():
    done(driver.cuInit(0))
    device = done(driver.cuDeviceGet(0))
    done(driver.cuCtxSetCurrent(done(driver.cuDevicePrimaryCtxRetain(device))))
    first = take_batch()
    pooled = done(driver.cuMemAllocAsync(5 * MIB, 0))
    done(driver.cuMemHostAlloc(MIB, 0))
    done(driver.cuMemFree(first))
    done(driver.cuMemFreeAsync(pooled, 0))
    take_batch()


if __name__ == "__main__":
    main()
