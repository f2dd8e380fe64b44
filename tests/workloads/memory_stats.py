# SPDX-License-Identifier: MIT
"""Some tensors of known sizes; prints the allocator's own counts as JSON."""
import json

import torch

MIB = 1 << 20


def main():
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (3 * MIB, 100, 30 * MIB, 11 * MIB)]
    kept[2] = None
    torch.cuda.empty_cache()
    stats = torch.cuda.memory_stats()
    print(json.dumps({
        "segments_allocated": stats.get("segment.all.allocated", 0),
        "segments_freed": stats.get("segment.all.freed", 0),
        "reserved_bytes": torch.cuda.memory_reserved(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
    }))


if __name__ == "__main__":
    main()
