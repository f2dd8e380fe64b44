# SPDX-License-Identifier: MIT
"""Ways to mix positions that are no softmax of products, as strangers write them."""
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


def fit(model, batch, loss_of, optimizer):
    watch(model, optimizer)
    for n in range(3):
        x, y = batch()
        loss = loss_of(model, x, y)
        stage(f"forward-{n}", inputs="x, y")
        loss.backward()
        stage(f"backward-{n}", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


def look_back(h, seen, w):
    e = torch.tanh(seen @ w["s"] + (h @ w["h"])[:, None]) @ w["e"]
    return (e.softmax(1) * seen).sum(1)


@case(family="sequence to sequence", mode="fp32, cells, scores by addition", hard=True,
      functions={"look_back": "attention"})
def additive_scores():
    d, v = 128, 3000
    words, out = nn.Embedding(v, d).cuda(), nn.Linear(2 * d, v).cuda()
    reader, writer = nn.GRU(d, d, batch_first=True).cuda(), nn.GRUCell(2 * d, d).cuda()
    w = {"s": fresh(d, d), "h": fresh(d, d), "e": fresh(d, 1)}

    def loss_of(x, y):
        seen, h = reader(words(x))
        h, total = h[0], []
        context = torch.zeros_like(h)
        for t in range(y.shape[1] - 1):
            h = writer(torch.cat((words(y[:, t]), context), -1), h)
            context = look_back(h, seen, w)
            total.append(head(out(torch.cat((h, context), -1))))
        return F.cross_entropy(torch.stack(total, 1).flatten(0, 1), y[:, 1:].flatten())

    models = nn.ModuleList((words, out, reader, writer))
    held = list(w.values())
    optimizer = torch.optim.Adam([*models.parameters(), *held], lr=1e-3)
    watch(models, optimizer)
    for n in range(3):
        x, y = torch.randint(0, v, (32, 30)).cuda(), torch.randint(0, v, (32, 20)).cuda()
        loss = loss_of(x, y)
        stage(f"forward-{n}", inputs="x, y", weights="held")
        loss.backward()
        stage(f"backward-{n}", inputs="x, y", weights="held")
        optimizer.step()
        optimizer.zero_grad()


class Keep(nn.Module):
    def __init__(self, d, h=4):
        super().__init__()
        self.h, self.all, self.gate, self.out = h, nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, d)
        self.even = nn.GroupNorm(h, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.all(x).view(b, t, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        fade = 1 - 2.0 ** (-5 - torch.arange(self.h, device=x.device, dtype=x.dtype))
        age = torch.arange(t, device=x.device)[:, None] - torch.arange(t, device=x.device)
        decay = torch.where(age >= 0, fade[:, None, None] ** age, 0)
        y = ((q @ k.mT) * decay) @ v
        y = self.even(y.transpose(1, 2).reshape(b * t, d)).view(b, t, d)
        return self.out(F.silu(self.gate(x)) * y)


class Fades(nn.Module):
    def __init__(self, v=4000, d=256, depth=3):
        super().__init__()
        self.words = nn.Embedding(v, d)
        self.keeps, self.thinks = nn.ModuleList(Keep(d) for _ in range(depth)), nn.ModuleList(
            nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d)) for _ in range(depth))
        self.a, self.b = (nn.ModuleList(nn.LayerNorm(d) for _ in range(depth)) for _ in range(2))
        self.out = nn.Linear(d, v)

    def forward(self, x):
        x = self.words(x)
        for k, m, a, b in zip(self.keeps, self.thinks, self.a, self.b):
            x = x + k(a(x))
            x = x + m(b(x))
        return self.out(x)


@case(family="retention", mode="fp32", heads=["out"], roles={":Keep": "attention", "thinks.*": "mlp"}, hard=True)
def retention():
    model = Fades().cuda()
    fit(model, lambda: (lambda i: (i, i.roll(-1, 1)))(torch.randint(0, 4000, (8, 128)).cuda()),
        lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten()), torch.optim.AdamW(model.parameters()))


def hand_out(x, w, room):
    n, d = x.shape
    p = F.softmax(x @ w["gate"], -1)
    best, who = p.max(-1)
    mask = F.one_hot(who, p.shape[-1]).to(x.dtype)
    place = ((mask.cumsum(0) - 1) * mask).sum(-1).long().clamp(max=room - 1)
    send = mask[:, :, None] * F.one_hot(place, room).to(x.dtype)[:, None]
    inside = torch.einsum("nec,nd->ecd", send, x)
    out = torch.einsum("ech,ehd->ecd", torch.einsum("ecd,edh->ech", inside, w["a"]).relu(), w["b"])
    w["balance"] = (mask.mean(0) * p.mean(0)).sum() * p.shape[-1]
    return torch.einsum("nec,ecd->nd", send * best[:, None, None], out)


def notice(x, w):
    q, k, v = (F.linear(x, m).unflatten(-1, (4, -1)).transpose(1, 2) for m in (w["q"], w["k"], w["v"]))
    return F.linear(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2), w["o"])


@case(family="switched experts", mode="fp32, one-hot products, balance",
      functions={"hand_out": "mlp", "notice": "attention"}, hard=True)
def switched_experts():
    d, v, e = 192, 5000, 4
    words, out = fresh(v, d), fresh(v, d)
    layers = [{"q": fresh(d, d), "k": fresh(d, d), "v": fresh(d, d), "o": fresh(d, d), "gate": fresh(d, e),
               "a": fresh(e, d, 3 * d), "b": fresh(e, 3 * d, d)} for _ in range(3)]
    held = [words, out, *(t for w in layers for t in w.values())]

    def forward(x, y):
        z, balance = F.embedding(x, words), 0
        for w in layers:
            z = z + notice(F.rms_norm(z, (d,)), w)
            z = z + hand_out(F.rms_norm(z, (d,)).flatten(0, 1), w, 320).view(z.shape)
            balance = balance + w.pop("balance")
        return F.cross_entropy(head(F.linear(F.rms_norm(z, (d,)), out)).flatten(0, 1), y.flatten()) + 0.01 * balance
    train(forward, held, lambda: (lambda i: (i, i.roll(-1, 1)))(torch.randint(0, v, (8, 128)).cuda()))


class Long(nn.Module):
    def __init__(self, d, t):
        super().__init__()
        self.three, self.out, self.t = nn.Linear(d, 3 * d), nn.Linear(d, d), t
        self.shape = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, d))
        self.near = nn.Parameter(torch.randn(3 * d, 1, 3) / 3)

    def forward(self, x):
        t = x.shape[1]
        u = F.conv1d(self.three(x).transpose(1, 2), self.near, padding=2, groups=self.near.shape[0])[..., :t]
        a, b, v = u.chunk(3, 1)
        s = torch.linspace(0, 1, t, device=x.device)[:, None] * torch.arange(1, 10, device=x.device)
        k = (self.shape(s.sin()) * torch.exp(-3 * s[:, :1])).T
        y = torch.fft.irfft(torch.fft.rfft(b * v, 2 * t) * torch.fft.rfft(k, 2 * t), 2 * t)[..., :t]
        return self.out((a * y).transpose(1, 2))


class Longs(nn.Module):
    def __init__(self, v=3000, d=192, t=256, depth=3):
        super().__init__()
        self.words, self.out = nn.Embedding(v, d), nn.Linear(d, v)
        self.longs = nn.ModuleList(Long(d, t) for _ in range(depth))
        self.wide = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
                                  for _ in range(depth))
        self.even = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * depth))

    def forward(self, x):
        x = self.words(x)
        for i, (a, b) in enumerate(zip(self.longs, self.wide)):
            x = x + a(self.even[2 * i](x))
            x = x + b(self.even[2 * i + 1](x))
        return self.out(x)


@case(family="long filters", mode="fp32, Fourier", heads=["out"], roles={":Long": "mixer", "wide.*": "mlp"}, hard=True)
def long_filters():
    model = Longs().cuda()
    fit(model, lambda: (lambda i: (i, i.roll(-1, 1)))(torch.randint(0, 3000, (8, 256)).cuda()),
        lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten()), torch.optim.AdamW(model.parameters()))


class AttentionBlock(nn.Module):
    def __init__(self, d, heads=4):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * d, d))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.feed(self.ln_2(x))


class PatchMixer(nn.Module):
    def __init__(self, t, d):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.across = nn.Sequential(nn.Linear(t, 2 * t), nn.GELU(), nn.Linear(2 * t, t))
        self.feed = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.across(self.ln_1(x).mT).mT
        return x + self.feed(self.ln_2(x))


class Patches(nn.Module):
    def __init__(self, t=64, d=192):
        super().__init__()
        self.cut, self.out = nn.Conv2d(3, d, 8, 8), nn.Linear(d, 10)
        self.blocks = nn.Sequential(AttentionBlock(d), PatchMixer(t, d), AttentionBlock(d), PatchMixer(t, d))

    def forward(self, x):
        return self.out(self.blocks(self.cut(x).flatten(2).mT).mean(1))


@case(family="blocks of plain sequences", mode="fp32, attention and mixers of patches", heads=["out"],
      roles={"*.attn": "attention", "*.feed.*": "mlp", "*.across.*": "mlp"})
def plain_sequences():
    model = Patches().cuda()
    fit(model, lambda: (torch.rand(32, 3, 64, 64).cuda(), torch.randint(0, 10, (32,)).cuda()),
        lambda m, x, y: F.cross_entropy(m(x), y), torch.optim.AdamW(model.parameters()))


if __name__ == "__main__":
    main()
