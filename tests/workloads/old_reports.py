# SPDX-License-Identifier: MIT
"""Memory of the driver, then of PyTorch's on the host under its own profiler, which prints what was reported to it."""
import json

import torch
from torch.profiler import ProfilerActivity, profile

from hold_memory import MIB, allocate, connect


def main():
    allocate(connect(), 20 * MIB)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = torch.ones(3 * MIB, dtype=torch.uint8) + torch.ones(3 * MIB, dtype=torch.uint8)
    print(json.dumps({"kept": kept.numel(),
                      "reported": [[e.name, e.cpu_memory_usage] for e in seen.events() if e.cpu_memory_usage]}))


if __name__ == "__main__":
    main()
