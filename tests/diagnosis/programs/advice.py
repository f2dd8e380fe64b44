# SPDX-License-Identifier: MIT
"""What the programs share: which advice is applied in this run, ways to apply it, and the peak at the end.

ADVICE holds the ids of findings whose advice is applied, VARIANT the way in which the program runs.
"""
import atexit
import json
import os

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

ADVICE = os.environ.get("ADVICE", "").split()
VARIANT = os.environ.get("VARIANT", "")
CHUNKS = 8  # of logits: what the finding's page says


def advised(finding):
    return finding in ADVICE


def mistake(finding):
    """Whether this run makes the mistake that its variant is named after: the advice against it is not applied."""
    return VARIANT == finding and finding not in ADVICE


def print_peak():
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated()}))


atexit.register(print_peak)


class Adam8(torch.optim.Optimizer):
    """The memory of a blockwise 8-bit Adam."""

    def __init__(self, parameters, **_):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if self.state[p] or p.grad is None:
                    continue
                for name in ("state1", "state2"):
                    if p.numel() < 4096:
                        self.state[p][name] = torch.zeros_like(p)
                        continue
                    self.state[p][name] = torch.zeros_like(p, dtype=torch.uint8)
                    self.state[p][f"absmax{name}"] = torch.zeros(-(-p.numel() // 256), device=p.device)


def adamw(parameters, **options):
    parameters = list(parameters)
    if advised("optimizer-states-wide"):
        return Adam8(parameters)
    return torch.optim.AdamW(parameters, fused=True if advised("optimizer-burst") else None, **options)


def call(layer, *inputs):
    """One layer, checkpointed or not."""
    return checkpoint(layer, *inputs, use_reentrant=False) if advised("activations-kept") else layer(*inputs)


def _piece(head, hidden, labels):
    return F.cross_entropy(head(hidden).float(), labels, reduction="sum")


def token_loss(head, hidden, labels):
    """Cross-entropy of hidden states (tokens, width), whole or in checkpointed chunks."""
    if not advised("logits-kept-whole"):
        return F.cross_entropy(head(hidden).float(), labels)
    total = 0
    for h, y in zip(hidden.chunk(CHUNKS), labels.chunk(CHUNKS)):
        total = total + checkpoint(_piece, head, h, y, use_reentrant=False)
    return total / labels.numel()
