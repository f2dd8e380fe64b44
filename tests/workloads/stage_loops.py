# SPDX-License-Identifier: MIT
"""Loops of plain PyTorch that note what they do when (stage_truth.py)."""
import contextlib
import sys

import stage_truth as truth
import torch
from torch import nn

W = 256


class Net(nn.Module):
    def __init__(self, outputs=W):
        super().__init__()
        self.first = nn.Linear(W, 4 * W)
        self.second = nn.Linear(4 * W, outputs)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x)))


def batch(rows=256):
    return torch.ones(rows, W).to("cuda")


def loss_of(model, x):
    return (model(x) - x).square().mean()


def evaluate(model, context=torch.no_grad):
    model.eval()
    with context():
        total = torch.zeros((), device="cuda")
        for _ in range(2):
            total += loss_of(model, batch(512))
    model.train()
    return total.item()


def scaler():
    """float16 with a GradScaler, four micro-batches, clipping; a step is skipped; evaluation under autocast."""
    model = truth.watch_all(Net().cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for i in range(4):
        for _ in range(4):
            x = batch()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_of(model, x) / 4
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if i == 2:
            scaler._maybe_opt_step = lambda *_, **__: None  # as where gradients overflowed
        scaler.step(optimizer)
        vars(scaler).pop("_maybe_opt_step", None)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        truth.step(4)
        if i % 2:
            with torch.autocast("cuda", dtype=torch.float16):
                evaluate(model)


def autocast():
    """One autocast around everything: casts that an evaluation made serve the training behind it."""
    model = truth.watch_all(Net().cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        evaluate(model)
        for i in range(4):
            loss = loss_of(model, batch())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.step()
            if i == 1:
                evaluate(model)
        evaluate(model)


def learn_and_evaluate(context):
    model = truth.watch_all(Net().cuda())
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss_of(model, batch()).backward()
        optimizer.step()
        optimizer.zero_grad()
        truth.step()
        evaluate(model, context)


def inference_mode():
    learn_and_evaluate(torch.inference_mode)


def unused_graphs():
    """model.eval() alone: autograd records graphs that nobody uses."""
    learn_and_evaluate(contextlib.nullcontext)


def closures():
    """LBFGS evaluates the loss as often as it likes; a part of it needs no module."""
    model = truth.watch_all(Net().cuda())
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=2)
    x = batch()

    def closure():
        optimizer.zero_grad()
        with truth.stage("forward"):
            loss = loss_of(model, x) + 0.01 * torch.relu(x * 2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
        truth.step()
        evaluate(model)


def adversarial():
    """Two updates of the critic, with images made without autograd, for one of the generator."""
    critic = truth.watch_all(Net(1).cuda())
    generator = Net().cuda()
    truth.watch(generator, lambda: "forward" if generator.training else "evaluation")
    for_critic = torch.optim.Adam(critic.parameters())
    for_generator = torch.optim.Adam(generator.parameters())
    for i in range(4):
        for _ in range(2):
            with torch.no_grad():
                made = generator(batch())
            for_critic.zero_grad()
            (critic(made).mean() - critic(batch()).mean()).backward()
            for_critic.step()
            truth.step()
        for_generator.zero_grad()
        critic(generator(batch())).mean().backward()
        for_generator.step()
        if i % 2:
            generator.eval()
            with torch.no_grad():
                generator(batch(1024)).mean().item()
            generator.train()


def out_of_memory():
    """Fails in the third micro-batch of the second step."""
    model = truth.watch_all(Net().cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    with contextlib.suppress(torch.OutOfMemoryError):
        for i in range(2):
            for k in range(4):
                loss = loss_of(model, batch())
                if i == 1 and k == 2:
                    loss = loss * torch.zeros(100 << 30, dtype=torch.uint8, device="cuda")
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            truth.step(4)


LOOPS = (scaler, autocast, inference_mode, unused_graphs, closures, adversarial, out_of_memory)

if __name__ == "__main__":
    {f.__name__: f for f in LOOPS}[sys.argv[1]]()
    truth.say()
