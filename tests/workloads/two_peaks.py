# SPDX-License-Identifier: MIT
"""Tensors take most at one moment; the device is fullest later, when the cache is in the way of a request that fits in
no segment.  With --one, both are the same moment.  Prints PyTorch's own figures."""
import argparse
import json

import torch

MIB = 1 << 20

parser = argparse.ArgumentParser()
parser.add_argument("--one", action="store_true")
options = parser.parse_args()

kept = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
pieces = [torch.empty(100 * MIB, dtype=torch.uint8, device="cuda") for _ in range(4)]
most_allocated = torch.cuda.max_memory_allocated()
if not options.one:
    del pieces
    whole = torch.empty(250 * MIB, dtype=torch.uint8, device="cuda")
print(json.dumps({"most_allocated": most_allocated, "allocated": torch.cuda.memory_allocated(),
                  "reserved": torch.cuda.memory_reserved()}))
