# SPDX-License-Identifier: MIT
"""Programs by hand around what is between layers: latents, codes, blends of patches, rewards, recurrences."""
import torch
import torch.nn.functional as F
from program import case, main
from torch import nn

V = 6000


class Sip(nn.Module):
    """Few questions to many answers: what a latent asks of its inputs."""

    def __init__(self, d, e, heads=4):
        super().__init__()
        self.h, self.a, self.b, self.c = heads, nn.Linear(d, d), nn.Linear(e, 2 * d), nn.Linear(d, d)

    def forward(self, z, x):
        q = self.a(z).unflatten(-1, (self.h, -1))
        k, v = self.b(x).unflatten(-1, (2, self.h, -1)).unbind(2)
        w = torch.softmax(torch.einsum("bqhc,bkhc->bhqk", q, k) * q.shape[-1] ** -0.5, -1)
        return self.c(torch.einsum("bhqk,bkhc->bqhc", w, v).flatten(2))


@case(family="latents by hand", mode="fp32, RMSprop, sums before norms", steps=3, heads=["end"],
      roles={":Sip": "attention", "*.sip.?": "attention", "*.own.?": "attention", "*.up": "mlp", "*.down": "mlp",
             "*.act": "mlp"},
      stages=("forward", "backward", "optimizer"))
def latents():
    class Turn(nn.Module):
        def __init__(self, d, e):
            super().__init__()
            self.sip, self.own, self.act = Sip(d, e), Sip(d, d), nn.GELU()
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
            self.p, self.q, self.r = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)

        def forward(self, z, x):
            z = self.p(z + self.sip(z, x))
            z = self.q(z + self.own(z, z))
            return self.r(z + self.down(self.act(self.up(z))))

    class Net(nn.Module):
        def __init__(self, d=128, e=48):
            super().__init__()
            self.z = nn.Parameter(torch.randn(1, 96, d))
            self.turns, self.end = nn.ModuleList(Turn(d, e) for _ in range(3)), nn.Linear(d, 40)

        def forward(self, x):
            z = self.z.expand(len(x), -1, -1)
            for turn in self.turns:
                z = turn(z, x)
            return self.end(z.mean(1))

    net = Net().cuda()
    optimizer = torch.optim.RMSprop(net.parameters(), 1e-3)
    for _ in range(3):
        x, y = torch.randn(8, 700, 48).cuda(), torch.randint(0, 40, (8,)).cuda()
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


class Blend(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.over, self.back = nn.Linear(n, 2 * n), nn.Linear(2 * n, n)
        self.wide, self.thin = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.g, self.h, self.bend = nn.LayerNorm(d), nn.LayerNorm(d), nn.GELU()

    def forward(self, x):
        x = x + self.back(self.bend(self.over(self.g(x).mT))).mT
        return x + self.thin(self.bend(self.wide(self.h(x))))


@case(family="blends of patches", mode="bf16 weights, accumulated in three", steps=2, micro_batches=3, heads=["out"],
      roles={"*.bend": "mlp", "*.over": "mlp", "*.back": "mlp", "*.wide": "mlp", "*.thin": "mlp", "cut": "conv"},
      stages=("forward", "backward", "optimizer"))
def blends():
    class Net(nn.Module):
        def __init__(self, d=160):
            super().__init__()
            self.cut, self.out = nn.Conv2d(3, d, 8, 8), nn.Linear(d, 30)
            self.rows = nn.ModuleList(Blend(64, d) for _ in range(5))

        def forward(self, x):
            x = self.cut(x).flatten(2).mT
            for row in self.rows:
                x = row(x)
            return self.out(x.amax(1))

    net = Net().cuda().bfloat16()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    for nr in range(6):
        x, y = torch.randn(24, 3, 64, 64).cuda().bfloat16(), torch.randint(0, 30, (24,)).cuda()
        (F.cross_entropy(net(x), y) / 3).backward()
        if nr % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


class Recall(nn.Module):
    """A state of keys by values that fades, read at each moment."""

    def __init__(self, d, h=4):
        super().__init__()
        self.h, self.r, self.k, self.v, self.o = h, *(nn.Linear(d, d, bias=False) for _ in range(4))
        self.fade = nn.Parameter(torch.zeros(h, d // h))

    def forward(self, x):
        b, t, d = x.shape
        r, k, v = (f(x).view(b, t, self.h, -1) for f in (self.r, self.k, self.v))
        s, out = x.new_zeros(b, self.h, d // self.h, d // self.h), []
        for i in range(t):
            kv = k[:, i, :, :, None] * v[:, i, :, None]
            out.append((r[:, i, :, None] @ (s + kv)).squeeze(2))
            s = torch.sigmoid(self.fade)[..., None] * s + kv
        return self.o(torch.stack(out, 1).reshape(b, t, d))


@case(family="recurrence by hand", mode="outer products, square of ReLU", heads=["say"], steps=3,
      roles={":Recall": "mixer", "*.t.?": "mixer", "*.c.*": "mlp", "*.c": "mlp"},
      stages=("forward", "backward", "optimizer"))
def recalls():
    class Square(nn.Module):
        def forward(self, x):
            return F.relu(x) ** 2

    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.words, self.say = nn.Embedding(V, d), nn.Linear(d, V, bias=False)
            self.rows = nn.ModuleList(nn.ModuleDict({
                "a": nn.LayerNorm(d), "t": Recall(d), "b": nn.LayerNorm(d),
                "c": nn.Sequential(nn.Linear(d, 4 * d), Square(), nn.Linear(4 * d, d))}) for _ in range(3))

        def forward(self, ids):
            x = self.words(ids)
            for row in self.rows:
                x = x + row["t"](row["a"](x))
                x = x + row["c"](row["b"](x))
            return self.say(x)

    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        ids = torch.randint(0, V, (8, 25)).cuda()
        loss = F.cross_entropy(net(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@case(family="code of pictures", mode="a book of vectors, its loss without gradients through the choice", steps=3,
      roles={"enc": "conv", "enc.*": "conv", "dec": "conv", "dec.*": "conv"},
      stages=("forward", "backward", "optimizer", "evaluation"))
def books():
    class Net(nn.Module):
        def __init__(self, d=64):
            super().__init__()
            self.enc = nn.Sequential(nn.Conv2d(3, d, 4, 2, 1), nn.ReLU(), nn.Conv2d(d, d, 4, 2, 1), nn.ReLU(),
                                     nn.Conv2d(d, d, 3, 1, 1))
            self.dec = nn.Sequential(nn.ConvTranspose2d(d, d, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(d, 3, 4, 2, 1))
            self.book = nn.Embedding(256, d)

        def forward(self, x):
            z = self.enc(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, z.shape[-1])
            far = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.book.weight.T + self.book.weight.pow(2).sum(1)
            q = self.book(far.argmin(1)).view_as(z)
            extra = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
            return self.dec((z + (q - z).detach()).permute(0, 3, 1, 2)), extra

    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        x = torch.randn(8, 3, 64, 64).cuda()
        y, extra = net(x)
        optimizer.zero_grad()
        (F.mse_loss(y, x) + extra).backward()
        optimizer.step()
    net.eval()
    with torch.inference_mode():
        for _ in range(2):
            x = torch.randn(8, 3, 64, 64).cuda()
            F.mse_loss(net(x)[0], x)


@case(family="actor and critic", mode="two optimizers, rollouts without gradients, four passes over each", steps=8,
      roles={"?": "mlp", "?.*": "mlp", "": "mlp"}, stages=("forward", "backward", "optimizer", "evaluation"))
def players():
    def net(out):
        return nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, out)).cuda()

    who, worth = net(18), net(1)
    one, two = torch.optim.Adam(who.parameters(), 3e-4), torch.optim.Adam(worth.parameters(), 1e-3)
    for _ in range(2):
        seen, did, old = [], [], []
        with torch.no_grad():
            for _ in range(8):
                s = torch.randn(256, 64).cuda()
                p = who(s).log_softmax(-1)
                a = p.exp().multinomial(1)
                seen.append(s), did.append(a), old.append(p.gather(1, a))
            s, a, p = torch.cat(seen), torch.cat(did), torch.cat(old)
            gain = torch.randn_like(p) - worth(s)
        for _ in range(4):
            ratio = (who(s).log_softmax(-1).gather(1, a) - p).exp()
            one.zero_grad()
            (-torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()).backward()
            one.step()
            two.zero_grad()
            F.mse_loss(worth(s), gain).backward()
            two.step()


@case(family="decoder by hand", mode="grouped keys, generate() with a cache within each epoch", heads=["say"], steps=4,
      roles={":Ask": "attention", "*.ask.?": "attention", ":Gate": "mlp", "*.gate.?": "mlp"},
      stages=("forward", "backward", "optimizer", "evaluation", "generation"))
def epochs():
    class Ask(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(d, n) for n in (d, d // 4, d // 4, d))

        def forward(self, x, past):
            b, t, d = x.shape
            q = self.q(x).view(b, t, 8, -1).transpose(1, 2)
            k, v = (f(x).view(b, t, 2, -1).transpose(1, 2) for f in (self.k, self.v))
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            r = F.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), is_causal=t > 1)
            return self.o(r.transpose(1, 2).reshape(b, t, d)), (k, v)

    class Gate(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(d, 3 * d), nn.Linear(d, 3 * d), nn.Linear(3 * d, d)

        def forward(self, x):
            return self.c(F.silu(self.a(x)) * self.b(x))

    class Row(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.ask, self.gate, self.n, self.m = Ask(d), Gate(d), nn.RMSNorm(d), nn.RMSNorm(d)

        def forward(self, x, past):
            y, kept = self.ask(self.n(x), past)
            x = x + y
            return x + self.gate(self.m(x)), kept

    class Net(nn.Module):
        def __init__(self, d=128):
            super().__init__()
            self.words, self.say = nn.Embedding(V, d), nn.Linear(d, V, bias=False)
            self.rows = nn.ModuleList(Row(d) for _ in range(3))

        def forward(self, ids, past=(None,) * 3):
            x, kept = self.words(ids), []
            for row, p in zip(self.rows, past):
                x, p = row(x, p)
                kept.append(p)
            return self.say(x), kept

    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def loss_of():
        ids = torch.randint(0, V, (8, 65)).cuda()
        return F.cross_entropy(net(ids[:, :-1])[0].transpose(1, 2), ids[:, 1:])

    @torch.no_grad()
    def write(ids, nr):
        scores, past = net(ids)
        for _ in range(nr):
            last = scores[:, -1].argmax(-1, keepdim=True)
            scores, past = net(last, past)

    for _ in range(2):
        net.train()
        for _ in range(2):
            loss_of().backward()
            optimizer.step()
            optimizer.zero_grad()
        net.eval()
        with torch.no_grad():
            loss_of()
            loss_of()
        write(torch.randint(0, V, (4, 16)).cuda(), 8)


if __name__ == "__main__":
    main()
