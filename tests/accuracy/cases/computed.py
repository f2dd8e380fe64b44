# SPDX-License-Identifier: MIT
"""Networks whose parts are told by what they compute: their names say nothing, or something else."""
import math

import torch
import torch.nn.functional as F
from stage import case, head, main, stage, watch
from torch import nn

V, W = 12000, 384


class Gaze(nn.Module):
    def __init__(self, heads=6):
        super().__init__()
        self.heads = heads
        self.a, self.b = nn.Parameter(torch.randn(3, W, W) / 20), nn.Parameter(torch.randn(W, W) / 20)

    def forward(self, x):
        q, k, v = torch.einsum("btw,nwv->nbtv", x, self.a).unflatten(-1, (self.heads, -1))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(W / self.heads)
        scores = scores + torch.full(scores.shape[-2:], -1e9, dtype=x.dtype, device=x.device).triu(1)
        return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2) @ self.b


class Bend(nn.Module):
    """ReLU between two products, as einsum."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(W, 4 * W) / 20), nn.Parameter(torch.randn(4 * W, W) / 20)

    def forward(self, x):
        return torch.einsum("btf,fw->btw", torch.einsum("btw,wf->btf", x, self.a).relu(), self.b)


class Committee(nn.Module):
    """Experts by hand: every token to its best two, all experts' products at once."""

    def __init__(self, experts=4):
        super().__init__()
        self.choose = nn.Parameter(torch.randn(W, experts) / 20)
        self.a, self.b = (nn.Parameter(torch.randn(experts, W, 2 * W) / 20),
                          nn.Parameter(torch.randn(experts, 2 * W, W) / 20))

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights, chosen = (flat @ self.choose).softmax(-1).topk(2)
        share = torch.zeros(len(flat), len(self.a), device=x.device).scatter(1, chosen, weights)
        every = torch.bmm(torch.bmm(flat.expand(len(self.a), *flat.shape), self.a).relu() ** 2, self.b)
        return (every * share.T[..., None]).sum(0).view_as(x)


class Level(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(W))

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * self.a


class Stack(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.words, self.steps = nn.Parameter(torch.randn(V, W) / 20), nn.ModuleList()
        for _ in range(3):
            self.steps.extend((Level(), Gaze(), Level(), wide()))
        self.last = Level()

    def forward(self, ids):
        x = self.words[ids]
        for i in range(0, len(self.steps), 2):
            x = x + self.steps[i + 1](self.steps[i](x))
        return head(self.last(x) @ self.words.T)


def train_words(model, step_of=torch.optim.AdamW):
    optimizer = step_of(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        ids = torch.randint(0, V, (8, 128)).cuda()
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        stage(f"forward-{step}", inputs="ids")
        loss.backward()
        stage(f"backward-{step}", inputs="ids")
        optimizer.step()
        optimizer.zero_grad()


UNNAMED = {":Gaze": "attention", ":Bend": "mlp", ":Committee": "mlp", ":Level": "norm"}


@case(family="decoder of einsum", mode="fp32, ReLU between products", roles=UNNAMED, hard=True)
def einsum_relu():
    train_words(Stack(Bend).cuda())


@case(family="experts by hand", mode="fp32, products of batches", roles=UNNAMED, hard=True)
def experts_by_hand():
    train_words(Stack(Committee).cuda(), torch.optim.SGD)


def even(x, scale):
    spread, mean = torch.var_mean(x, (0, 2, 3), keepdim=True)
    return (x - mean) * torch.rsqrt(spread + 1e-5) * scale


def bent(p, x):
    x = F.relu(F.conv2d(even(x, p["s"]), p["a"], padding=1))
    return F.conv2d(x, p["b"], padding=1)


@case(family="convolutions as functions", mode="fp32, norms by hand beside sums, classes",
      functions={"even": "norm", "bent": "conv"}, hard=True)
def convolutions_of_functions():
    def fresh(*shape):
        return (torch.randn(shape, device="cuda") / 30).requires_grad_()

    first, out = fresh(64, 3, 3, 3), fresh(64, 100)
    parts = [{"s": torch.ones(1, 64, 1, 1, device="cuda").requires_grad_(), "a": fresh(64, 64, 3, 3),
              "b": fresh(64, 64, 3, 3)} for _ in range(4)]
    held = [first, out, *(t for p in parts for t in p.values())]
    optimizer = torch.optim.SGD(held, 0.1, momentum=0.9)
    watch(optimizer)
    stage("loaded", weights="held")
    for step in range(3):
        x, y = torch.randn(32, 3, 48, 48).cuda(), torch.randint(0, 100, (32,)).cuda()
        z = F.conv2d(x, first, padding=1)
        for p in parts:
            z = z + bent(p, z)
        loss = F.cross_entropy(head(z.mean((2, 3)) @ out), y)
        stage(f"forward-{step}", weights="held", inputs="x, y")
        loss.backward()
        stage(f"backward-{step}", weights="held", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


class Gate(nn.Module):
    """A gated feed-forward as those of image models have: as wide as a vocabulary, and none."""

    def __init__(self, width):
        super().__init__()
        self.level, self.both, self.back = (nn.LayerNorm(width), nn.Linear(width, 8 * width),
                                            nn.Linear(4 * width, width))

    def forward(self, x):
        value, gate = self.both(self.level(x)).chunk(2, -1)
        return self.back(value * F.gelu(gate))


class Noise(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.time, self.wide = nn.Embedding(1000, width), nn.ModuleList(Gate(width) for _ in range(3))

    def forward(self, x, t):
        x = self.first(x) + self.time(t)[..., None, None]
        tokens = x.flatten(2).transpose(1, 2)
        for wide in self.wide:
            tokens = tokens + wide(tokens)
        return self.last(tokens.transpose(1, 2).unflatten(2, x.shape[2:]))


@case(family="image model with gates", mode="fp32, noise predicted", roles={"*.level": "norm", "wide.*": "mlp"},
      hard=True)
def gated_image_model():
    model = Noise().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        x, t = torch.randn(8, 4, 32, 32).cuda(), torch.randint(0, 1000, (8,)).cuda()
        noise = torch.randn_like(x)
        loss = F.mse_loss(model(x + noise, t), noise)
        stage(f"forward-{step}", inputs="x, t, noise")
        loss.backward()
        stage(f"backward-{step}", inputs="x, t, noise")
        optimizer.step()
        optimizer.zero_grad()


class Tagger(nn.Module):
    """Scores of tags, summed over all ways through a sentence: none is a word of a vocabulary."""

    def __init__(self, tags=24):
        super().__init__()
        self.words, self.run = nn.Embedding(V, 256), nn.LSTM(256, 256, batch_first=True, bidirectional=True)
        self.scores, self.moves = nn.Linear(512, tags), nn.Parameter(torch.randn(tags, tags))

    def forward(self, ids, tags):
        scores = self.scores(self.run(self.words(ids))[0])
        total = scores[:, 0]
        for t in range(1, ids.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.moves, 1) + scores[:, t]
        path = scores.gather(2, tags[..., None]).sum((1, 2)) + self.moves[tags[:, :-1], tags[:, 1:]].sum(1)
        return (torch.logsumexp(total, 1) - path).mean()


@case(family="tagger", mode="fp32, conditional random field", hard=True)
def tagger():
    model = Tagger().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        ids, tags = torch.randint(0, V, (64, 24)).cuda(), torch.randint(0, 24, (64, 24)).cuda()
        loss = model(ids, tags)
        stage(f"forward-{step}", inputs="ids, tags")
        loss.backward()
        stage(f"backward-{step}", inputs="ids, tags")
        optimizer.step()
        optimizer.zero_grad()


@case(family="decoder of einsum", mode="bf16, head's weight on the host until it is needed", roles=UNNAMED, hard=True)
def offloaded_head():
    model = Stack(Bend).cuda().bfloat16().requires_grad_(False)
    watch(model)
    kept = (torch.randn(W, V) / 20).bfloat16().pin_memory()
    with torch.no_grad():
        for turn in range(3):
            ids = torch.randint(0, V, (8, 128)).cuda()
            x = model.words[ids]
            for i in range(0, len(model.steps), 2):
                x = x + model.steps[i + 1](model.steps[i](x))
            out = kept.to("cuda", non_blocking=True)
            scores = head(model.last(x)[:, -1] @ out)
            stage(f"read-{turn}", inputs="ids", weights="out")
            choice = scores.argmax(-1)
            stage(f"said-{turn}", inputs="ids", weights="out", user="choice")
            del out, scores


class Shop(nn.Module):
    def __init__(self):
        super().__init__()
        self.things, self.people = nn.Embedding(60000, 64), nn.Embedding(20000, 64)
        self.rate = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, who, what):
        return self.rate(torch.cat([self.people(who), self.things(what)], -1)).squeeze(-1)


class Own(torch.optim.Optimizer):
    """Works on copies of gradients, as large as a table of words."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.01})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            speed = self.state[p].setdefault("speed", torch.zeros_like(p))
            scaled = p.grad / (p.grad.norm() + 1e-6)
            speed.mul_(0.9).add_(scaled)
            p.sub_(speed, alpha=0.01)


@case(family="ratings", mode="fp32, large tables, optimizer by hand", roles={"rate*": "mlp"}, hard=True)
def large_tables():
    model = Shop().cuda()
    optimizer = Own(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        who, what = torch.randint(0, 20000, (4096,)).cuda(), torch.randint(0, 60000, (4096,)).cuda()
        liked = torch.rand(4096).cuda()
        loss = F.binary_cross_entropy_with_logits(model(who, what), liked)
        stage(f"forward-{step}", inputs="who, what, liked")
        loss.backward()
        stage(f"backward-{step}", inputs="who, what, liked")
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


class CodeBook(nn.Module):
    """Chooses the nearest of its rows and looks it up, by the largest negative distance."""

    def __init__(self, rows=1024, d=64):
        super().__init__()
        self.register_buffer("codes", torch.randn(rows, d))

    def forward(self, x):
        flat = x.flatten(0, 1)
        far = (flat.square().sum(1, keepdim=True) + self.codes.square().sum(1) - 2 * flat @ self.codes.T).clamp(min=0)
        nearest = (-far.sqrt()).argmax(-1)
        near = (F.one_hot(nearest, len(self.codes)).to(x.dtype) @ self.codes).view_as(x)
        return x + (near - x).detach(), (x - near.detach()).square().mean()


class Coder(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, d))
        self.book, self.dec = CodeBook(d=d), nn.Sequential(nn.Linear(d, 512), nn.GELU(), nn.Linear(512, 256))

    def forward(self, x):
        y, far = self.book(self.enc(x))
        return self.dec(y), far


@case(family="code book", mode="fp32, nearest code by hand, straight through",
      roles={"enc.*": "mlp", "dec.*": "mlp"})
def code_book():
    model = Coder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        x = torch.rand(16, 512, 256).cuda()
        y, far = model(x)
        loss = F.mse_loss(y, x) + far
        stage(f"forward-{step}", inputs="x")
        loss.backward()
        stage(f"backward-{step}", inputs="x")
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
