# SPDX-License-Identifier: MIT
"""A codec of sound: convolutions, residual vector quantisation, and critics at three scales; two optimizers."""
# variants: clean graph-unused gradients-in-forward module-unused
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, call, mistake


def down(i, o, s):
    return nn.Sequential(nn.ELU(), nn.Conv1d(i, o, 2 * s, s, s // 2))


def up(i, o, s):
    return nn.Sequential(nn.ELU(), nn.ConvTranspose1d(i, o, 2 * s, s, s // 2))


class Quantiser(nn.Module):
    def __init__(self, d, codes=1024, books=4):
        super().__init__()
        self.books = nn.ParameterList([nn.Parameter(torch.randn(codes, d)) for _ in range(books)])

    def forward(self, z):
        z = z.transpose(1, 2)
        left, total, cost = z, 0, 0
        for book in self.books:
            index = torch.cdist(left.detach().flatten(0, 1), book.detach()).argmin(-1)
            q = F.embedding(index, book).view_as(z)
            cost = cost + F.mse_loss(left.detach(), q)
            left, total = left - q.detach(), total + q
        return (z + (total - z).detach()).transpose(1, 2), cost


class Codec(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, c, 7, 1, 3), down(c, 2 * c, 2), down(2 * c, 4 * c, 4),
                                 down(4 * c, 8 * c, 8))
        self.quant = Quantiser(8 * c)
        self.dec = nn.Sequential(up(8 * c, 4 * c, 8), up(4 * c, 2 * c, 4), up(2 * c, c, 2), nn.ELU(),
                                 nn.Conv1d(c, 1, 7, 1, 3))

    def forward(self, x):
        for part in self.enc:
            x = call(part, x)
        z, cost = self.quant(x)
        for part in self.dec:
            z = call(part, z)
        return z, cost


class Critic(nn.Module):
    def __init__(self, c=128):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(1, c, 15, 1, 7), nn.Conv1d(c, 4 * c, 41, 4, 20, groups=4),
                                    nn.Conv1d(4 * c, 8 * c, 41, 4, 20, groups=16), nn.Conv1d(8 * c, 1, 3, 1, 1)])

    def forward(self, x):
        features = []
        for conv in self.convs:
            x = F.leaky_relu(call(conv, x), 0.2)
            features.append(x)
        return features


class Perception(nn.Module):
    """A net of another task whose features nobody asks for any more."""

    def __init__(self, d=768):
        super().__init__()
        self.proj = nn.Linear(80, d)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d, 8, 4 * d, batch_first=True) for _ in range(3)])

    def forward(self, x):
        x = self.proj(x)
        for layer in self.layers:
            x = layer(x)
        return x


codec = Codec().cuda()
critics = nn.ModuleList([Critic() for _ in range(3)]).cuda()
perception = Perception().eval().requires_grad_(False)
if mistake("module-unused"):
    perception = perception.cuda()
opt_g, opt_d = adamw(codec.parameters()), adamw(critics.parameters())
late = mistake("gradients-in-forward")


def judge(x):
    return [critic(F.avg_pool1d(x, 2 ** i) if i else x) for i, critic in enumerate(critics)]


for step in range(3):
    wave = torch.randn(4, 1, 16384).cuda()
    fake, cost = codec(wave)
    if not late:
        opt_d.zero_grad()
    real_f, fake_f = judge(wave), judge(fake.detach())
    if late:
        opt_d.zero_grad()
    loss_d = sum(F.relu(1 - r[-1]).mean() + F.relu(1 + f[-1]).mean() for r, f in zip(real_f, fake_f))
    loss_d.backward()
    opt_d.step()
    del real_f, fake_f, loss_d
    critics.requires_grad_(False)
    if not late:
        opt_d.zero_grad()
        opt_g.zero_grad()
    fake_f = judge(fake)
    loss = F.l1_loss(fake, wave) + cost + sum(-f[-1].mean() for f in fake_f)
    if late:
        opt_g.zero_grad()
    loss.backward()
    opt_g.step()
    if not late:
        opt_g.zero_grad()
    critics.requires_grad_(True)
    print(loss.item())
    del fake, cost, fake_f, loss, wave
codec.eval()
if VARIANT == "graph-unused":
    for step in range(3):
        wave = torch.randn(16, 1, 32768, device="cuda")
        with torch.set_grad_enabled(mistake("graph-unused")):
            heard, _ = codec(wave)
        print(F.l1_loss(heard, wave).item())
