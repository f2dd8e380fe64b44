# SPDX-License-Identifier: MIT
"""What tests/gpu/accept asks of a card; prints one line: JSON, or nanoseconds."""
import ctypes
import json
import sys
import time

import torch

MIB = 1 << 20


def driver_version():
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value


def card():
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    properties = torch.cuda.get_device_properties(0)
    context = total - free - torch.cuda.memory_reserved()
    kept = [torch.empty(20 * MIB, dtype=torch.uint8, device="cuda") for _ in range(4)]
    blocks = [tensor.data_ptr() for tensor in kept]
    order = "ascending" if blocks == sorted(blocks) else "descending" if blocks == sorted(blocks)[::-1] else "mixed"
    major, minor = torch.cuda.get_device_capability()
    print(json.dumps({
        "device": torch.cuda.get_device_name(0), "torch": torch.__version__, "total": total, "context": context,
        "sms": properties.multi_processor_count, "l2": properties.L2_cache_size,
        "capability": f"{major}.{minor}", "driver": driver_version(), "order": order}))


def books():
    kept = [torch.empty((index + 1) * 3 * MIB, dtype=torch.uint8, device="cuda") for index in range(8)]
    del kept[::2]
    torch.cuda.empty_cache()
    kept.append(torch.empty(200 * MIB, dtype=torch.uint8, device="cuda"))
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "used": total - free}))


def loop(passes=5000, rounds=5, is_recorded_by_torch=False):
    """Short kernels and a block each: the processor is what limits it. The fastest round counts."""
    if is_recorded_by_torch:
        torch.cuda.memory._record_memory_history()
    tensor = torch.zeros(64, device="cuda")
    fastest = None
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(passes):
            tensor + 1
        torch.cuda.synchronize()
        taken = (time.perf_counter_ns() - start) / passes
        fastest = taken if fastest is None else min(fastest, taken)
    print(fastest)


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("no GPU here", file=sys.stderr)
        sys.exit(77)
    if sys.argv[1] == "loop":
        loop(is_recorded_by_torch="--history" in sys.argv)
    else:
        {"card": card, "books": books}[sys.argv[1]]()
