# SPDX-License-Identifier: MIT
"""Loops that look as if they leaked and do not: what they hold grows and falls, moves along, or is filled once."""
import argparse
import collections
import copy
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

WIDTH = 128
TOKENS = 64


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, past=None):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v))
        return x + self.mlp(x), (k, v)


class Decoder(nn.Module):
    def __init__(self, is_checkpointed=False):
        super().__init__()
        self.embed = nn.Embedding(512, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.head = nn.Linear(WIDTH, 512)
        self.is_checkpointed = is_checkpointed

    def forward(self, tokens, past=None):
        x, kept = self.embed(tokens), []
        for nr, layer in enumerate(self.layers):
            if self.is_checkpointed:
                x, pair = checkpoint(layer, x, use_reentrant=False)
            else:
                x, pair = layer(x, past[nr] if past else None)
                kept.append(pair)
        return self.head(x), kept


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.narrow(F.gelu(self.wide(x)))


def tokens(length=TOKENS, size=8):
    return torch.zeros(size, length, dtype=torch.long).cuda()


def loss_of(model, length=TOKENS):
    ids = tokens(length)
    logits, _ = model(ids)
    return F.cross_entropy(logits.flatten(0, 1), ids.flatten())


def steps(model, iterations, length_of=lambda step: TOKENS):
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(iterations):
        loss = loss_of(model, length_of(step))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield step, loss


def run(loop):
    for _ in loop:
        pass


def variable_lengths(iterations):
    chosen = random.Random(1)
    run(steps(Decoder().cuda(), iterations, lambda step: chosen.randrange(16, 256)))


def curriculum(iterations):
    """Every batch is longer than the last, and its logits are held until the next has its own."""
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(iterations):
        ids = tokens(16 + 8 * step)
        logits, _ = model(ids)
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def accumulation(iterations):
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(iterations):
        for _ in range(4):
            (loss_of(model) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


def evaluation(iterations):
    """Predictions of an evaluation are gathered, and let go when it is over."""
    model = Decoder().cuda()
    for step, _ in steps(model, iterations):
        if step % 3 == 2:
            with torch.no_grad():
                predictions = [model(tokens())[0] for _ in range(4)]
                torch.cat(predictions)
            del predictions


@torch.no_grad()
def generate(model, length):
    ids = tokens(16, 1)
    logits, past = model(ids)
    for _ in range(length):
        logits, past = model(logits[:, -1:].argmax(-1), past)


def generation(iterations):
    """The cache of a generation grows with each token and goes with its end."""
    model = Decoder().cuda().eval()
    chosen = random.Random(2)
    for _ in range(iterations):
        generate(model, chosen.randrange(8, 24))


def one_generation(iterations):
    generate(Decoder().cuda().eval(), 4 * iterations)


def ema(iterations):
    model = Decoder().cuda()
    average = copy.deepcopy(model)
    for _ in steps(model, iterations):
        with torch.no_grad():
            for kept, fresh in zip(average.parameters(), model.parameters()):
                kept.lerp_(fresh, 0.1)


def checkpointing(iterations):
    run(steps(Decoder(is_checkpointed=True).cuda(), iterations))


def adversarial(iterations):
    generator, critic = nn.Linear(WIDTH, WIDTH).cuda(), nn.Linear(WIDTH, 1).cuda()
    for_generator = torch.optim.Adam(generator.parameters())
    for_critic = torch.optim.Adam(critic.parameters())
    for _ in range(iterations):
        noise = torch.zeros(64, WIDTH).cuda()
        made = generator(noise)
        for_critic.zero_grad()
        (critic(made.detach()).mean() - critic(noise).mean()).backward()
        for_critic.step()
        for_generator.zero_grad()
        critic(made).mean().backward()
        for_generator.step()


def logging(iterations):
    """Losses as numbers, and the mean of the last few as a tensor."""
    history, recent = [], collections.deque(maxlen=4)
    for _, loss in steps(Decoder().cuda(), iterations):
        history.append(loss.item())
        recent.append(loss.detach())


def prefetch(iterations):
    """Batches are on the device before their turn."""
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.zeros(8 * iterations, TOKENS, dtype=torch.long))
    waiting = collections.deque()
    loader = iter(DataLoader(data, batch_size=8))
    while True:
        batch = next(loader, None)
        if batch is not None:
            waiting.append(batch[0].cuda())
        if not waiting:
            return
        if len(waiting) < 3 and batch is not None:
            continue
        ids = waiting.popleft()
        logits, _ = model(ids)
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def amp(iterations):
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0)
    for _ in range(iterations):
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(model)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def sawtooth(iterations):
    """Outputs are kept for five steps, then looked at and dropped."""
    model = Decoder().cuda()
    kept = []
    for step, _ in steps(model, iterations):
        with torch.no_grad():
            kept.append(model(tokens())[0])
        if step % 5 == 4:
            kept.clear()


def tables(iterations):
    """A table per length that came, of which there are few."""
    model = Decoder().cuda()
    known = {}
    lengths = (16, 32, 48, 64)
    for step, _ in steps(model, iterations, lambda step: lengths[step * 7 % 4]):
        known.setdefault(step * 7 % 4, torch.zeros(64, WIDTH).cuda())


def unfreezing(iterations):
    """Layer after layer is trained, from the last to the first: gradients and states come at a few steps."""
    model = nn.Sequential(*(Mlp() for _ in range(6))).cuda().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(iterations):
        if step % 3 == 0 and step // 3 < len(model):
            model[-1 - step // 3].requires_grad_(True)
        model(torch.zeros(64, WIDTH).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def experts(iterations):
    """Each expert has its gradient and its states from the first step that gives it tokens."""
    mlps = nn.ModuleList(Mlp() for _ in range(iterations)).cuda()
    optimizer = torch.optim.AdamW(mlps.parameters())
    for step in range(iterations):
        mlps[step * 4 // 5](torch.zeros(64, WIDTH).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


def filled(iterations):
    """A memory of the last outputs, full shortly before the end."""
    model, memory = Decoder().cuda(), collections.deque(maxlen=iterations - 4)
    for _ in steps(model, iterations):
        with torch.no_grad():
            memory.append(model(tokens())[0])


LOOPS = {f.__name__: f for f in (variable_lengths, curriculum, accumulation, evaluation, generation, one_generation,
                                 ema, checkpointing, adversarial, logging, prefetch, amp, sawtooth, tables,
                                 unfreezing, experts, filled)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--iterations", type=int, default=16)
    options = parser.parse_args()
    LOOPS[options.loop](options.iterations)


if __name__ == "__main__":
    main()
