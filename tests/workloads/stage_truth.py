# SPDX-License-Identifier: MIT
"""What a program does when, noted by the program itself: intervals of time with a stage, and its own count of steps.

The interval that began last decides; "any" decides nothing. Times are CLOCK_MONOTONIC, as in recordings.
"""
import contextlib
import json
import time

import torch

INTERVALS = []
STEPS = []  # micro-batches of each finished step


@contextlib.contextmanager
def stage(name):
    row = [time.monotonic_ns(), None, name]
    INTERVALS.append(row)
    try:
        yield
    finally:
        row[1] = time.monotonic_ns()


def watch(model, of=None):
    """Each call of the model, by hooks; `of` says which stage a call has."""
    of = of or (lambda: "forward" if model.training and torch.is_grad_enabled() else "evaluation")
    rows = []

    def before(module, arguments):
        rows.append([time.monotonic_ns(), None, of()])
        INTERVALS.append(rows[-1])

    def after(module, arguments, result):
        rows.pop()[1] = time.monotonic_ns()

    model.register_forward_pre_hook(before)
    model.register_forward_hook(after, always_call=True)
    return model


def watch_backward():
    """Every backward pass that a tensor's method or autograd.backward begins."""
    real = torch.autograd.backward

    def backward(*arguments, **options):
        with stage("backward"):
            return real(*arguments, **options)

    torch.autograd.backward = backward


def watch_optimizers(with_closures=True):
    """Every step of an optimizer; with_closures: closures have intervals themselves."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    rows = []

    def before(optimizer, arguments, options):
        has_closure = any(callable(a) for a in [*arguments[1:], *options.values()])
        rows.append([time.monotonic_ns(), None, "any" if has_closure and not with_closures else "optimizer"])
        INTERVALS.append(rows[-1])

    def after(optimizer, arguments, options):
        rows.pop()[1] = time.monotonic_ns()

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def watch_all(model, of=None):
    watch_backward()
    watch_optimizers()
    return watch(model, of)


def step(micro_batches=1):
    STEPS.append(micro_batches)


def say(**more):
    now = time.monotonic_ns()
    print("TRUTH " + json.dumps({"intervals": [[a, b or now, c] for a, b, c in INTERVALS], "steps": STEPS, **more}))
