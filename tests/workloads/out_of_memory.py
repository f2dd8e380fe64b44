# SPDX-License-Identifier: MIT
"""Keep allocating until the device is full, report the error and go on."""
import argparse

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256, help="size of one tensor")
    parser.add_argument("--uncaught", action="store_true", help="let the error end the program")
    options = parser.parse_args()
    kept = []
    try:
        while True:
            kept.append(torch.empty(options.mib << 20, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError as error:
        if options.uncaught:
            raise
        print(f"{type(error).__name__}: {error}")
    stats = torch.cuda.memory_stats()
    print(f"kept {len(kept)} ooms {stats['num_ooms']} retries {stats['num_alloc_retries']}")
    kept.clear()
    torch.cuda.empty_cache()
    print(f"reserved after {torch.cuda.memory_reserved()} bytes")


if __name__ == "__main__":
    main()
