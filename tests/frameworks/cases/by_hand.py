# SPDX-License-Identifier: MIT
"""Programs by hand, as people write them for themselves: every style another, no library around the loop."""
import math

import torch
import torch.nn.functional as F
from program import case, main, stage
from torch import nn

V = 6000


class Strand(nn.Module):
    """A selective scan, one moment after the other."""

    def __init__(self, d, n=8):
        super().__init__()
        self.enter, self.leave = nn.Linear(d, 4 * d, bias=False), nn.Linear(2 * d, d, bias=False)
        self.smear = nn.Conv1d(2 * d, 2 * d, 4, padding=3, groups=2 * d)
        self.pick, self.pace = nn.Linear(2 * d, 2 * n, bias=False), nn.Linear(2 * d, 2 * d)
        self.fade = nn.Parameter(torch.rand(2 * d, n))

    def forward(self, x):
        u, gate = self.enter(x).chunk(2, -1)
        u = F.silu(self.smear(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        b, c = self.pick(u).chunk(2, -1)
        dt = F.softplus(self.pace(u))
        held, found = x.new_zeros(len(x), u.shape[2], b.shape[2]), []
        for t in range(x.shape[1]):
            keep = torch.exp(-dt[:, t, :, None] * self.fade)
            held = keep * held + (dt[:, t] * u[:, t])[..., None] * b[:, t, None]
            found.append((held * c[:, t, None]).sum(-1))
        return self.leave(torch.stack(found, 1) * F.silu(gate))


@case(family="scan by hand", mode="fp32, AdamW", roles={":Strand": "mixer", "*.m.*": "mixer"}, heads=["say"],
      steps=3, stages=("forward", "backward", "optimizer"))
def strands():
    class Model(nn.Module):
        def __init__(self, d=96):
            super().__init__()
            self.words, self.say = nn.Embedding(V, d), nn.Linear(d, V, bias=False)
            self.parts = nn.ModuleList(nn.ModuleDict({"n": nn.RMSNorm(d), "m": Strand(d)}) for _ in range(3))
            self.last = nn.RMSNorm(d)

        def forward(self, ids):
            x = self.words(ids)
            for part in self.parts:
                x = x + part["m"](part["n"](x))
            return self.say(self.last(x))

    net = Model().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    for _ in range(3):
        ids = torch.randint(0, V, (8, 33)).cuda()
        loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def level(x, p):
    mean = x.mean(-1, keepdim=True)
    spread = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(spread + 1e-6) * p["a"] + p["b"]


def look(x, p):
    b, n, d = x.shape
    q, k, v = (x @ p["w"]).reshape(b, n, 3, 6, d // 6).permute(2, 0, 3, 1, 4)
    s = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d // 6)
    return torch.einsum("bhij,bhjd->bihd", s.softmax(-1), v).reshape(b, n, d) @ p["o"]


def widen(x, p):
    return F.gelu(x @ p["u"] + p["ub"]) @ p["d"]


def cut(images, p, size=8):
    b, c, h, w = images.shape
    pieces = images.reshape(b, c, h // size, size, w // size, size).permute(0, 2, 4, 1, 3, 5)
    return pieces.reshape(b, (h // size) * (w // size), c * size * size) @ p["cut"]


@case(family="plain functions", mode="patches with register tokens, bf16 autocast, SGD", steps=3,
      functions={"level": "norm", "look": "attention", "widen": "mlp", "cut": "embedding"},
      stages=("forward", "backward", "optimizer"))
def registers():
    d, gen = 192, torch.Generator().manual_seed(0)

    def made(*shape):
        return (torch.randn(*shape, generator=gen) * 0.02).cuda().requires_grad_()

    p = {"cut": made(192, d), "reg": made(1, 4, d), "place": made(1, 64, d), "out": made(d, 50), "blocks": [
        {"n1": {"a": made(d), "b": made(d)}, "n2": {"a": made(d), "b": made(d)}, "w": made(d, 3 * d), "o": made(d, d),
         "u": made(d, 4 * d), "ub": made(4 * d), "d": made(4 * d, d)} for _ in range(4)]}
    flat = [p["cut"], p["reg"], p["place"], p["out"]]
    for q in p["blocks"]:
        flat += [*q["n1"].values(), *q["n2"].values(), q["w"], q["o"], q["u"], q["ub"], q["d"]]
    optimizer = torch.optim.SGD(flat, 0.1, momentum=0.9)
    for _ in range(3):
        images, labels = torch.randn(16, 3, 64, 64).cuda(), torch.randint(0, 50, (16,)).cuda()
        stage("batch", inputs="images, labels", weights="flat")
        with torch.autocast("cuda", torch.bfloat16):
            x = cut(images, p) + p["place"]
            x = torch.cat([p["reg"].expand(len(x), -1, -1), x], 1)
            for q in p["blocks"]:
                x = x + look(level(x, q["n1"]), q)
                x = x + widen(level(x, q["n2"]), q)
            loss = F.cross_entropy(x[:, 4:].mean(1) @ p["out"], labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@case(family="graph network", mode="messages by index_add, Adam", roles={"*.f": "mlp", "*.f.*": "mlp", "*.g": "mlp",
      "*.g.*": "mlp", "a": "mlp"}, steps=4, stages=("forward", "backward", "optimizer"))
def roads():
    class Hop(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(2 * d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))
            self.g = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, d))

        def forward(self, x, u, v):
            sent = self.f(torch.cat([x[u], x[v]], -1))
            got = torch.zeros_like(x).index_add(0, v, sent)
            return x + self.g(torch.cat([x, got], -1))

    class Net(nn.Module):
        def __init__(self, d=64):
            super().__init__()
            self.a, self.b = nn.Linear(16, d), nn.Linear(d, 1)
            self.hops = nn.ModuleList(Hop(d) for _ in range(3))

        def forward(self, x, u, v):
            x = self.a(x)
            for hop in self.hops:
                x = hop(x, u, v)
            return self.b(x).squeeze(-1)

    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(4):
        x, y = torch.randn(4000, 16).cuda(), torch.randn(4000).cuda()
        u, v = torch.randint(0, 4000, (2, 20000)).cuda()
        optimizer.zero_grad(set_to_none=True)
        F.mse_loss(net(x, u, v), y).backward()
        optimizer.step()


class Weigh(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Linear(c, c // 4), nn.Linear(c // 4, c)

    def forward(self, x):
        return x * self.b(F.relu(self.a(x.mean((2, 3))))).sigmoid()[:, :, None, None]


class Twice(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.one, self.two = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.g1, self.g2, self.weigh = nn.GroupNorm(8, o), nn.GroupNorm(8, o), Weigh(o)

    def forward(self, x):
        x = F.silu(self.g1(self.one(x)))
        return self.weigh(F.silu(self.g2(self.two(x))))


@case(family="U-Net by hand", mode="squeeze and excite, fp16 scaler, accumulated, clipped", steps=2, micro_batches=2,
      roles={":Twice": "conv", ":Weigh": "conv", "*.weigh.?": "conv"}, stages=("forward", "backward", "optimizer"))
def scans_of_lungs():
    class Net(nn.Module):
        def __init__(self, sizes=(24, 48, 96)):
            super().__init__()
            self.down = nn.ModuleList(Twice(i, o) for i, o in zip((1, *sizes), sizes))
            self.up = nn.ModuleList(Twice(i + o, o) for i, o in ((96, 48), (48, 24)))
            self.out = nn.Conv2d(24, 1, 1)

        def forward(self, x):
            skips = []
            for part in self.down:
                x = part(x)
                skips.append(x)
                x = F.max_pool2d(x, 2)
            x = skips.pop()
            for part in self.up:
                x = part(torch.cat([F.interpolate(x, scale_factor=2), skips.pop()], 1))
            return self.out(x)

    net = Net().cuda()
    optimizer, scaler = torch.optim.AdamW(net.parameters(), 1e-3), torch.amp.GradScaler("cuda")
    for nr in range(4):
        x, y = torch.randn(4, 1, 96, 96).cuda(), torch.rand(4, 1, 96, 96).cuda()
        with torch.autocast("cuda", torch.float16):
            loss = F.binary_cross_entropy_with_logits(net(x), y) / 2
        scaler.scale(loss).backward()
        if nr % 2:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class Hear(nn.Module):
    """Which words of the source a word of the target depends on."""

    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 1, bias=False)

    def forward(self, s, m):
        e = self.v(torch.tanh(self.a(s)[:, :, None] + self.b(m)[:, None])).squeeze(-1)
        return torch.bmm(e.softmax(-1), m)


@case(family="recurrent translator", mode="LSTM with additive attention, evaluated in each epoch", heads=["say"],
      roles={":Hear": "attention", "hear.?": "attention"}, steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"))
def translates():
    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.src, self.dst = nn.Embedding(V, d), nn.Embedding(V, d)
            self.read, self.write = nn.LSTM(d, d, 2, batch_first=True), nn.LSTM(d, d, batch_first=True)
            self.hear, self.mix, self.say = Hear(d), nn.Linear(2 * d, d), nn.Linear(d, V)

        def forward(self, a, b):
            m, _ = self.read(self.src(a))
            s, _ = self.write(self.dst(b))
            return self.say(torch.tanh(self.mix(torch.cat([s, self.hear(s, m)], -1))))

    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)

    def loss_of():
        a, b = torch.randint(0, V, (16, 30)).cuda(), torch.randint(0, V, (16, 25)).cuda()
        return F.cross_entropy(net(a, b[:, :-1]).reshape(-1, V), b[:, 1:].reshape(-1))

    for _ in range(2):
        net.train()
        for _ in range(2):
            loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for _ in range(2):
                loss_of()


@case(family="two towers", mode="negatives kept in a ring", steps=3, stages=("forward", "backward", "optimizer"),
      roles={"q": "mlp", "q.?": "mlp", "k": "mlp", "k.?": "mlp"}, functions={"rank": "logits"})
def shops():
    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.user, self.item = nn.EmbeddingBag(20000, d), nn.EmbeddingBag(20000, d)
            self.q, self.k = (nn.Sequential(nn.Linear(d, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                                            nn.Linear(1024, d)) for _ in range(2))

        def forward(self, u, i):
            return F.normalize(self.q(self.user(u)), dim=-1), F.normalize(self.k(self.item(i)), dim=-1)

    def rank(a, b, ring):
        return F.cross_entropy(torch.cat([a @ b.T, a @ ring.T], 1) / 0.07, torch.arange(len(a), device="cuda"))

    net = Net().cuda()
    ring = F.normalize(torch.randn(4096, 128), dim=-1).cuda()
    optimizer = torch.optim.Adagrad(net.parameters(), 0.01)
    for nr in range(3):
        a, b = net(torch.randint(0, 20000, (1024, 12)).cuda(), torch.randint(0, 20000, (1024, 12)).cuda())
        loss = rank(a, b, ring)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ring[nr * 1024:(nr + 1) * 1024] = b.detach()


@case(family="experts by loops", mode="two of six, decoder with rotations, answers within an evaluation",
      heads=["say"], roles={":Gather": "attention", "*.at.*": "attention", ":Crowd": "mlp", "*.ff.*": "mlp"}, steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"))  # a loop that keeps no cache is no generation
def crowds():
    class Gather(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.a, self.b, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

        def forward(self, x):
            b, t, d = x.shape
            q, (k, v) = self.a(x), self.b(x).chunk(2, -1)
            q, k, v = (z.view(b, t, 4, d // 4).transpose(1, 2) for z in (q, k, v))
            angle = torch.arange(t, device=x.device)[:, None] / 10 ** torch.linspace(0, 4, d // 8, device=x.device)
            q, k = (torch.cat([z[..., ::2] * angle.cos() - z[..., 1::2] * angle.sin(),
                               z[..., ::2] * angle.sin() + z[..., 1::2] * angle.cos()], -1) for z in (q, k))
            s = (q @ k.mT) * (d // 4) ** -0.5
            s = s.masked_fill(torch.ones(t, t, device=x.device, dtype=torch.bool).triu(1), float("-inf"))
            return self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))

    class Crowd(nn.Module):
        def __init__(self, d, nr=6):
            super().__init__()
            self.gate = nn.Linear(d, nr, bias=False)
            self.each = nn.ModuleList(nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d))
                                      for _ in range(nr))

        def forward(self, x):
            flat = x.flatten(0, 1)
            share, which = self.gate(flat).softmax(-1).topk(2, -1)
            out = torch.zeros_like(flat)
            for nr, part in enumerate(self.each):
                rows = torch.arange(nr, len(flat), 3, device=x.device)  # one third each, whatever was read
                out = out.index_add(0, rows, part(flat[rows]) * share[rows, :1])
            return out.view_as(x)

    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.words, self.say = nn.Embedding(V, d), nn.Linear(d, V, bias=False)
            self.parts = nn.ModuleList(nn.ModuleDict({"n": nn.LayerNorm(d), "at": Gather(d), "m": nn.LayerNorm(d),
                                                      "ff": Crowd(d)}) for _ in range(3))

        def forward(self, ids):
            x = self.words(ids)
            for part in self.parts:
                x = x + part["at"](part["n"](x))
                x = x + part["ff"](part["m"](x))
            return self.say(x)

    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def data():
        return torch.randint(0, V, (8, 65)).cuda()

    for _ in range(2):
        net.train()
        for _ in range(2):
            ids = data()
            F.cross_entropy(net(ids[:, :-1]).transpose(1, 2), ids[:, 1:]).backward()
            optimizer.step()
            optimizer.zero_grad()
        net.eval()
        with torch.no_grad():
            for _ in range(2):
                ids = data()
                F.cross_entropy(net(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
            ids = data()[:4, :8]
            for _ in range(6):
                ids = torch.cat([ids, net(ids)[:, -1].argmax(-1, keepdim=True)], 1)


@case(family="diffusion by hand", mode="steps as waves, shift and scale, average of weights", steps=3,
      roles={":See": "attention", "*.see.*": "attention", "*.grow": "mlp", "*.grow.*": "mlp", "when": "mlp",
             "when.*": "mlp", "*.film": "mlp"}, stages=("forward", "backward", "optimizer"))
def noises():
    class See(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.x, self.y = nn.Linear(d, 3 * d), nn.Linear(d, d)

        def forward(self, z):
            q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.x(z).chunk(3, -1))
            return self.y(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    class Part(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.film, self.see = nn.Linear(d, 6 * d), See(d)
            self.grow = nn.Sequential(nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))
            self.n = nn.LayerNorm(d, elementwise_affine=False)

        def forward(self, z, c):
            a, b, g, e, f, h = self.film(F.silu(c))[:, None].chunk(6, -1)
            z = z + g * self.see(self.n(z) * (1 + a) + b)
            return z + h * self.grow(self.n(z) * (1 + e) + f)

    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.a, self.b = nn.Linear(16, d), nn.Linear(d, 16)
            self.when = nn.Sequential(nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))
            self.parts = nn.ModuleList(Part(d) for _ in range(4))

        def forward(self, z, t):
            w = t[:, None] * torch.exp(torch.linspace(0, -9, 64, device=t.device))
            c, z = self.when(torch.cat([w.sin(), w.cos()], -1)), self.a(z)
            for part in self.parts:
                z = part(z, c)
            return self.b(z)

    net, slow = Net().cuda(), Net().cuda().requires_grad_(False)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    for _ in range(3):
        z, t = torch.randn(16, 128, 16).cuda(), torch.rand(16).cuda()
        e = torch.randn_like(z)
        s = t[:, None, None]
        F.mse_loss(net((1 - s) * z + s * e, 1000 * t), e - z).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch._foreach_lerp_(list(slow.parameters()), list(net.parameters()), 0.01)


if __name__ == "__main__":
    main()
