# SPDX-License-Identifier: MIT
"""Two batches in page-locked host memory, one of which is freed before the end."""
import torch

BATCHES, MIB = 2, 300

torch.zeros(1024, device="cuda")
batches = [torch.empty(MIB << 20, dtype=torch.uint8).pin_memory() for _ in range(BATCHES)]
print(f"asked for {BATCHES} x {MIB} MiB")
del batches[0]
torch.ones(1 << 20, device="cuda")
