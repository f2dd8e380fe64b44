# SPDX-License-Identifier: MIT
"""Parts of networks that no operator and no name says: what they compute is spelled out."""
import math

import torch
import torch.nn.functional as F
from stage import case, head, main, stage, watch
from torch import nn


def fresh(*shape, scale=0.05):
    return (torch.randn(*shape, device="cuda") * scale).requires_grad_()


def train(forward, held, batch, step_of=torch.optim.Adam, steps=3):
    optimizer = step_of(held, lr=1e-3)
    watch(optimizer)
    stage("loaded", weights="held")
    for n in range(steps):
        x, y = batch()
        loss = forward(x, y)
        stage(f"forward-{n}", weights="held", inputs="x, y")
        loss.backward()
        stage(f"backward-{n}", weights="held", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


def weigh(s):
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def gaze(x, w, h=4):
    b, t, d = x.shape
    q, k, v = (x @ w["in"]).view(b, t, 3, h, d // h).permute(2, 0, 3, 1, 4)
    s = q @ k.transpose(-1, -2) * (d // h) ** -0.5
    allowed = torch.ones(t, t, device="cuda").tril()
    s = s * allowed - 1e9 * (1 - allowed)
    return (weigh(s) @ v).transpose(1, 2).reshape(b, t, d) @ w["out"]


def bend(x, w):
    h = x @ w["up"]
    return (h * torch.sigmoid(1.702 * h)) @ w["down"]


def level(x, g):
    m = x.mean(-1, keepdim=True)
    s = ((x - m) ** 2).mean(-1, keepdim=True)
    return (x - m) / (s + 1e-6).sqrt() * g


def surprise(z, y):
    top = z.max(-1, keepdim=True).values
    total = (z - top).exp().sum(-1).log() + top.squeeze(-1)
    return (total - z.gather(-1, y[..., None]).squeeze(-1)).mean()


@case(family="decoder of functions", mode="softmax and loss spelled out",
      functions={"gaze": "attention", "bend": "mlp", "level": "norm", "surprise": "logits"}, hard=True)
def softmax_spelled_out():
    d, v = 256, 6000
    table = fresh(v, d)
    layers = [{"in": fresh(d, 3 * d), "out": fresh(d, d), "up": fresh(d, 4 * d), "down": fresh(4 * d, d),
               "a": fresh(d), "b": fresh(d)} for _ in range(3)]
    last = fresh(d)

    def forward(x, y):
        z = table[x]
        for w in layers:
            z = z + gaze(level(z, w["a"]), w)
            z = z + bend(level(z, w["b"]), w)
        return surprise(head(level(z, last) @ table.t()), y)

    held = [table, last, *(t for w in layers for t in w.values())]

    def batch():
        ids = torch.randint(0, v, (8, 97)).cuda()
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    train(forward, held, batch)


class Stream(nn.Module):
    def __init__(self, d, h=8):
        super().__init__()
        self.h, self.mix, self.back = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.mix(x).unflatten(-1, (3, self.h, -1)).unbind(2)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        memory = torch.einsum("bnhd,bnhe->bhde", k, v)
        scale = 1 / (torch.einsum("bnhd,bhd->bnh", q, k.sum(1)) + 1e-6)
        return self.back(torch.einsum("bnhd,bhde,bnh->bnhe", q, memory, scale).flatten(2))


class Widen(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.one, self.two = nn.Linear(d, 3 * d), nn.Linear(3 * d, d)

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


class River(nn.Module):
    def __init__(self, d=192, depth=4):
        super().__init__()
        self.enter = nn.Linear(48, d)
        self.streams = nn.ModuleList(Stream(d) for _ in range(depth))
        self.wides = nn.ModuleList(Widen(d) for _ in range(depth))
        self.levels = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * depth))
        self.leave = nn.Linear(d, 10)

    def forward(self, x):
        x = self.enter(x)
        for i, (s, w) in enumerate(zip(self.streams, self.wides)):
            x = x + s(self.levels[2 * i](x))
            x = x + w(self.levels[2 * i + 1](x))
        return self.leave(x.mean(1))


@case(family="linear attention", mode="fp32, images as patches", heads=["leave"],
      roles={":Stream": "attention", ":Widen": "mlp", "enter": "mlp"}, hard=True)
def linear_attention():
    model = River().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    watch(model, optimizer)
    for n in range(3):
        x, y = torch.randn(16, 196, 48).cuda(), torch.randint(0, 10, (16,)).cuda()
        loss = F.cross_entropy(model(x), y)
        stage(f"forward-{n}", inputs="x, y")
        loss.backward()
        stage(f"backward-{n}", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


def neighbours(x, edges, w):
    src, dst = edges
    h = x @ w["w"]
    e = F.leaky_relu((h @ w["l"])[src] + (h @ w["r"])[dst], 0.2)
    e = (e - e.max()).exp()
    total = torch.zeros(len(x), e.shape[1], device="cuda").index_add_(0, dst, e)
    a = e / (total[dst] + 1e-9)
    heads = h.view(len(x), e.shape[1], -1)
    out = torch.zeros_like(heads).index_add_(0, dst, heads[src] * a[..., None])
    return out.flatten(1)


@case(family="graph attention", mode="fp32, whole graph", hard=True,
      functions={"neighbours": "attention", "bend": "mlp"})
def graph_attention():
    d, n, m = 128, 3000, 20000
    first, out = fresh(32, d), fresh(d, 7)
    layers = [{"w": fresh(d, d), "l": fresh(d, 4), "r": fresh(d, 4), "up": fresh(d, 2 * d), "down": fresh(2 * d, d)}
              for _ in range(3)]
    edges = torch.randint(0, n, (2, m)).cuda()
    held = [first, out, *(t for w in layers for t in w.values())]

    def forward(x, y):
        z = x @ first
        for w in layers:
            z = F.elu(neighbours(z, edges, w)) + z
            z = z + bend(z, w)
        return F.cross_entropy(head(z @ out), y)

    optimizer = torch.optim.Adam(held, lr=1e-3)
    watch(optimizer)
    x, y = torch.randn(n, 32).cuda(), torch.randint(0, 7, (n,)).cuda()
    stage("loaded", weights="held", inputs="x, y, edges")
    for k in range(3):
        loss = forward(x, y)
        stage(f"forward-{k}", weights="held", inputs="x, y, edges")
        loss.backward()
        stage(f"backward-{k}", weights="held", inputs="x, y, edges")
        optimizer.step()
        optimizer.zero_grad()


class Space(nn.Module):
    def __init__(self, d, n=8):
        super().__init__()
        self.both, self.back = nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.near = nn.Conv1d(d, d, 3, padding=2, groups=d)
        self.decay, self.rate = nn.Parameter(torch.randn(d, n)), nn.Linear(d, d)
        self.b, self.c = nn.Linear(d, n), nn.Linear(d, n)

    def forward(self, x):
        u, gate = self.both(x).chunk(2, -1)
        u = F.silu(self.near(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        rate, b, c = F.softplus(self.rate(u)), self.b(u), self.c(u)
        keep = torch.exp(-rate[..., None] * self.decay.exp())
        put = (rate * u)[..., None] * b[:, :, None, :]
        h, ys = torch.zeros_like(put[:, 0]), []
        for t in range(x.shape[1]):
            h = keep[:, t] * h + put[:, t]
            ys.append((h * c[:, t, None, :]).sum(-1))
        return self.back(torch.stack(ys, 1) * F.silu(gate))


class Spaces(nn.Module):
    def __init__(self, v, d=128, depth=3):
        super().__init__()
        self.words, self.spaces = nn.Embedding(v, d), nn.ModuleList(Space(d) for _ in range(depth))
        self.levels = nn.ModuleList(nn.RMSNorm(d) for _ in range(depth + 1))

    def forward(self, x):
        x = self.words(x)
        for level_, space in zip(self.levels, self.spaces):
            x = x + space(level_(x))
        return head(self.levels[-1](x) @ self.words.weight.T)


@case(family="state space by hand", mode="fp32, a loop over time", roles={":Space": "mixer"}, hard=True)
def state_spaces():
    model = Spaces(2000).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for n in range(3):
        x = torch.randint(0, 2000, (16, 32)).cuda()
        loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
        stage(f"forward-{n}", inputs="x")
        loss.backward()
        stage(f"backward-{n}", inputs="x")
        optimizer.step()
        optimizer.zero_grad()


class Guess(nn.Module):
    def __init__(self, k=16, d=512):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, d), nn.Tanh(), nn.Linear(d, d), nn.Tanh())
        self.share, self.centre, self.spread = nn.Linear(d, k), nn.Linear(d, k * 8), nn.Linear(d, k * 8)

    def forward(self, x):
        h = self.body(x)
        return (self.share(h), self.centre(h).unflatten(-1, (-1, 8)), self.spread(h).unflatten(-1, (-1, 8)))


def unlikely(parts, y):
    share, centre, spread = parts
    z = (y[:, None] - centre) * (-spread).exp()
    each = -0.5 * z.square().sum(-1) - spread.sum(-1) - 4 * math.log(2 * math.pi)
    return -torch.logsumexp(each + share.log_softmax(-1), -1).mean()


@case(family="mixture density", mode="fp32", roles={"*": "mlp"}, functions={"unlikely": "other"}, hard=True)
def mixture_density():
    model = Guess().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    watch(model, optimizer)
    for n in range(3):
        x, y = torch.randn(4096, 20).cuda(), torch.randn(4096, 8).cuda()
        loss = unlikely(model(x), y)
        stage(f"forward-{n}", inputs="x, y")
        loss.backward()
        stage(f"backward-{n}", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


DIM, HEADS, LAYERS, VOCAB, PREFIX = 384, 6, 4, 5000, 32


def frozen(*shape):
    return torch.randn(*shape, device="cuda") * 0.02


def make_frozen():
    def layer():
        return {"qkv": frozen(DIM, 3 * DIM), "proj": frozen(DIM, DIM), "in": frozen(DIM, 4 * DIM),
                "in_b": frozen(4 * DIM), "out": frozen(4 * DIM, DIM), "g1": frozen(DIM), "g2": frozen(DIM)}
    return {"wte": frozen(VOCAB, DIM), "wpe": frozen(512, DIM), "layers": [layer() for _ in range(LAYERS)]}


def split(x):
    return x.unflatten(-1, (HEADS, DIM // HEADS)).transpose(1, 2)


def look(x, layer, before):
    q, k, v = map(split, (x @ layer["qkv"]).split(DIM, dim=-1))
    k, v = (torch.cat([b.expand(len(x), -1, -1, -1), y], dim=2) for b, y in zip(before, (k, v)))
    n = q.shape[2]
    mask = torch.ones(n, n + PREFIX, dtype=torch.bool, device=x.device).tril(PREFIX)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return y.transpose(1, 2).reshape(x.shape) @ layer["proj"]


def widen(x, layer):
    return F.gelu(torch.addmm(layer["in_b"], x.flatten(0, 1), layer["in"])).mm(layer["out"]).view_as(x)


def center(x, gain):
    return F.layer_norm(x, (DIM,), gain)


def speak(base, prefixes, ids):
    x = base["wte"][ids] + base["wpe"][: ids.shape[1]]
    for layer, before in zip(base["layers"], prefixes):
        x = x + look(center(x, layer["g1"]), layer, before)
        x = x + widen(center(x, layer["g2"]), layer)
    return head(x @ base["wte"].T)


@case(family="decoder of functions", mode="frozen dictionaries, keys and values before each layer trained", hard=True,
      functions={"look": "attention", "widen": "mlp", "center": "norm", "speak": "residual"})
def prefix_tuned():
    base = make_frozen()
    prefixes = [tuple(frozen(HEADS, PREFIX, DIM // HEADS).requires_grad_() for _ in "kv") for _ in range(LAYERS)]
    optimizer = torch.optim.Adam([p for pair in prefixes for p in pair], lr=1e-3)
    watch(optimizer)
    stage("loaded", weights="base, prefixes")
    for n in range(3):
        ids = torch.randint(0, VOCAB, (8, 128)).cuda()
        logits = speak(base, prefixes, ids)
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        stage(f"forward-{n}", weights="base, prefixes", inputs="ids")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
