# SPDX-License-Identifier: MIT
"""Programs that fail since values are zeros on the simulated device: `zeros_read.py CASE`.

`item` divides by a value, `size` takes the largest of no rows, `memory` runs out of memory, `error` fails without
having read anything, `nothing` ends well, `values` reads back what it wrote, `leave` reads and ends by _exit.
"""
import os
import sys

import torch


def count_tokens(lengths):
    return int(lengths.sum().item())


def mean_loss(lengths):
    return 1.0 / count_tokens(lengths)


def best_of_chosen(scores):
    chosen = scores[scores > 0.5]
    return chosen.max()


def main(case):
    scores = torch.rand(1000, device="cuda")
    if case == "item":
        mean_loss(torch.randint(1, 9, (16,), device="cuda"))
    if case == "size":
        best_of_chosen(scores)
    if case in ("memory", "nothing", "leave"):
        count_tokens(torch.ones(16, device="cuda") + 1)
    if case == "memory":
        torch.empty(1 << 40, device="cuda")
    if case == "values":
        print(torch.tensor([3, 4]).cuda().tolist())
    if case == "leave":
        os._exit(3)
    if case in ("values", "error"):
        raise ValueError("not of the device's doing")


if __name__ == "__main__":
    main(sys.argv[1])
