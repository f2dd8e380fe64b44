# SPDX-License-Identifier: MIT
"""Ask the caching allocator for odd sizes on two streams and two threads; print what its own history says of each."""
import json
import random
import threading

import torch

KIB, MIB = 1 << 10, 1 << 20


def ask(sizes, stream, kept):
    with torch.cuda.stream(stream):
        for size in sizes:
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            if len(kept) % 3 == 0:
                del kept[-2]


def fail():
    """What a failure leaves behind must not be taken for the size of the next request, which is too small to round."""
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
    return torch.empty(100, dtype=torch.uint8, device="cuda")


def main():
    torch.cuda.memory._record_memory_history(max_entries=100000)
    rng = random.Random(1)
    sizes = [rng.choice((rng.randrange(1, 2 * KIB), rng.randrange(1, MIB), rng.randrange(MIB, 40 * MIB)))
             for _ in range(60)]
    side, kept, other = torch.cuda.Stream(), [], []
    ask(sizes[:30], torch.cuda.default_stream(), kept)
    thread = threading.Thread(target=ask, args=(sizes[30:], side, other))
    thread.start()
    thread.join()
    small = fail()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    print(json.dumps([{"address": entry["addr"], "bytes": entry["size"], "stream": entry["stream"]}
                      for entry in trace if entry["action"] == "alloc"]))
    del small


if __name__ == "__main__":
    main()
