# SPDX-License-Identifier: MIT
"""Memory of the driver, then of PyTorch's on the host under its own profiler, which prints what was reported to it."""
import ctypes
import json

import torch
from torch.profiler import ProfilerActivity, profile

MIB = 1 << 20


def check(result):
    assert result == 0, result


def main():
    driver = ctypes.CDLL("libcuda.so.1")
    context, segment = ctypes.c_void_p(), ctypes.c_uint64()
    check(driver.cuInit(0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))
    check(driver.cuMemAlloc_v2(ctypes.byref(segment), ctypes.c_size_t(20 * MIB)))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = torch.ones(3 * MIB, dtype=torch.uint8) + torch.ones(3 * MIB, dtype=torch.uint8)
    print(json.dumps({"kept": kept.numel(),
                      "reported": [[e.name, e.cpu_memory_usage] for e in seen.events() if e.cpu_memory_usage]}))


if __name__ == "__main__":
    main()
