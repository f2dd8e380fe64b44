# SPDX-License-Identifier: MIT
"""Programs that take their batch from the command line: programs.py NAME BATCH"""
import copy
import json
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda"
STEPS = 4


def train(model, batches, loss_of, make=torch.optim.AdamW):
    optimizer = make(model.parameters(), lr=1e-3)
    for batch in batches:
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def ids(batch, length, vocabulary=8192):
    return torch.zeros(batch, length, dtype=torch.long, device=DEVICE)


def pictures(batch, side, channels=3):
    return torch.zeros(batch, channels, side, side, device=DEVICE)


# --- convolutional ---------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.skip = nn.Conv2d(inside, outside, 1, stride) if inside != outside else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512), classes=1000):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 7, 2, 3)
        self.body = nn.Sequential(*(Residual(a, b, 1 if a == b else 2)
                                    for a, b in zip((widths[0], *widths), widths)))
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.fc(self.body(F.max_pool2d(self.stem(x), 2)).mean((2, 3)))


def resnet(batch):
    def loss_of(model, x):
        return F.cross_entropy(model(x), torch.zeros(batch, dtype=torch.long, device=DEVICE))

    train(ResNet().to(DEVICE), (pictures(batch, 224) for _ in range(STEPS)), loss_of, torch.optim.SGD)


class UNet(nn.Module):
    def __init__(self, channels=3, width=64, depth=3, out=2):
        super().__init__()
        widths = [width << i for i in range(depth)]
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip([channels, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths[-2::-1], widths[:0:-1]))
        self.merge = nn.ModuleList(self.block(2 * a, a) for a in widths[-2::-1])
        self.head = nn.Conv2d(width, out, 1)

    @staticmethod
    def block(inside, outside):
        return nn.Sequential(nn.Conv2d(inside, outside, 3, 1, 1), nn.GroupNorm(8, outside), nn.SiLU(),
                             nn.Conv2d(outside, outside, 3, 1, 1), nn.GroupNorm(8, outside), nn.SiLU())

    def forward(self, x):
        kept = []
        for block in self.down[:-1]:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.down[-1](x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), kept.pop()], 1))
        return self.head(x)


def unet(batch):
    def loss_of(model, x):
        return F.cross_entropy(model(x), torch.zeros(batch, 128, 128, dtype=torch.long, device=DEVICE))

    train(UNet().to(DEVICE), (pictures(batch, 128) for _ in range(STEPS)), loss_of)


def autoencoder(batch):
    """Convolutions down to a vector and up again, float16 under autocast with a scaler."""
    down = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Flatten(),
                         nn.Linear(64 * 16 * 16, 256))
    up = nn.Sequential(nn.Linear(128, 64 * 16 * 16), nn.Unflatten(1, (64, 16, 16)), nn.ConvTranspose2d(64, 32, 4, 2, 1),
                       nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1))
    model = nn.ModuleList([down, up]).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0)
    for _ in range(STEPS):
        x = pictures(batch, 64, 1)
        with torch.autocast("cuda", torch.float16):
            mean, spread = down(x).chunk(2, 1)
            made = up(mean + torch.randn_like(mean) * spread.mul(0.5).exp())
            loss = F.mse_loss(made.float(), x) + (mean.square() + spread.exp() - spread).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


# --- transformers ----------------------------------------------------------------------------------


class FusedLayer(nn.Module):
    """Queries, keys and values by one product; a cache that grows by concatenation."""

    def __init__(self, width, heads, is_eager=False):
        super().__init__()
        self.heads, self.is_eager = heads, is_eager
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.gate_up = nn.Linear(width, 6 * width)
        self.down = nn.Linear(3 * width, width)

    def attend(self, q, k, v, is_causal):
        if not self.is_eager:
            return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=DEVICE).tril()
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    def forward(self, x, past=None):
        b, s, w = x.shape
        q, k, v = (part.view(b, s, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = self.attend(q, k, v, past is None and s > 1)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, w))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), (k, v)


class Decoder(nn.Module):
    def __init__(self, width=512, depth=4, heads=8, vocabulary=8192, is_eager=False):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(FusedLayer(width, heads, is_eager) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, past=None):
        x, kept = self.embed(tokens), []
        for number, layer in enumerate(self.layers):
            x, pair = layer(x, past[number] if past else None)
            kept.append(pair)
        return self.head(self.norm(x)), kept


def next_token(model, tokens):
    logits, _ = model(tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())


def decoder(batch):
    train(Decoder().to(DEVICE), (ids(batch, 384) for _ in range(STEPS)), next_token)


def eager_decoder(batch):
    train(Decoder(is_eager=True).to(DEVICE), (ids(batch, 320) for _ in range(STEPS)), next_token)


@torch.no_grad()
def decoding(batch):
    """A prompt, then token after token with a cache that is concatenated."""
    model = Decoder().to(DEVICE).half().eval()
    tokens = ids(batch, 200)
    logits, past = model(tokens)
    for _ in range(24):
        logits, past = model(logits[:, -1:].argmax(-1), past)


def accumulation(batch):
    """Micro-batches of one step, activations of layers computed twice."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 3).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        for _ in range(3):
            x = torch.zeros(batch, 100, 256, device=DEVICE)
            (model(x).square().mean() / 3).backward()
        optimizer.step()
        optimizer.zero_grad()


def seq2seq(batch):
    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8000, 256)
            self.core = nn.Transformer(256, 8, 3, 3, 1024, batch_first=True)
            self.head = nn.Linear(256, 8000)

        def forward(self, source, target):
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=DEVICE)
            return self.head(self.core(self.embed(source), self.embed(target), tgt_mask=mask))

    def loss_of(model, pair):
        return F.cross_entropy(model(*pair).flatten(0, 1), pair[1].flatten())

    train(Translator().to(DEVICE), ((ids(batch, 120), ids(batch, 90)) for _ in range(STEPS)), loss_of)


def recurrent(batch):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20000, 200)
            self.lstm = nn.LSTMCell(200, 300)
            self.head = nn.Linear(300, 20)

        def forward(self, tokens):
            x = self.embed(tokens)
            state, kept = None, []
            for t in range(x.shape[1]):
                state = self.lstm(x[:, t], state)
                kept.append(state[0])
            return self.head(torch.stack(kept, 1))

    def loss_of(model, tokens):
        return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())

    train(Tagger().to(DEVICE), (ids(batch, 48) for _ in range(STEPS)), loss_of)


# --- others ----------------------------------------------------------------------------------------


def gan(batch):
    made = nn.Sequential(nn.ConvTranspose2d(64, 256, 4), nn.BatchNorm2d(256), nn.ReLU(),
                         nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.ReLU(),
                         nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                         nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).to(DEVICE)
    critic = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1),
                           nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128 * 8 * 8, 1)).to(DEVICE)
    optimizers = [torch.optim.Adam(m.parameters()) for m in (made, critic)]
    for _ in range(STEPS):
        fake = made(torch.randn(batch, 64, 1, 1, device=DEVICE))
        real = pictures(batch, 32)
        optimizers[1].zero_grad()
        (F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        optimizers[0].step()


def policy(batch):
    """Environments side by side, a buffer of what they did, updates of the whole of it."""
    model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 9)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        seen, chosen = [], []
        state = torch.zeros(batch, 64, device=DEVICE)
        with torch.no_grad():
            for _ in range(32):
                seen.append(state)
                chosen.append(model(state)[:, :8].argmax(-1))
                state = torch.randn_like(state)
        seen, chosen = torch.cat(seen), torch.cat(chosen)
        for _ in range(2):
            out = model(seen)
            loss = F.cross_entropy(out[:, :8], chosen) + out[:, 8].square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def diffusion(batch):
    """Noise is foretold, at a time that is embedded; a slow copy of the weights."""
    model = UNet(4, 64, 3, 4).to(DEVICE)
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = pictures(batch, 64, 4)
        times = torch.rand(batch, device=DEVICE)[:, None, None, None]
        noise = torch.randn_like(x)
        loss = F.mse_loss(model(x * (1 - times) + noise * times), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for slow, fresh in zip(average.parameters(), model.parameters()):
                slow.lerp_(fresh, 0.01)


def contrastive(batch):
    """Two towers, and the products of every row with every other."""
    picture, text = ResNet((32, 64, 128), 256).to(DEVICE), nn.EmbeddingBag(5000, 256).to(DEVICE)
    optimizer = torch.optim.SGD([*picture.parameters(), *text.parameters()], 0.1)
    for _ in range(STEPS):
        a = F.normalize(picture(pictures(batch, 64)))
        b = F.normalize(text(ids(batch, 30)))
        scores = a @ b.T
        target = torch.arange(batch, device=DEVICE)
        (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)).backward()
        optimizer.step()
        optimizer.zero_grad()


@torch.no_grad()
def gathered(batch):
    """An evaluation that keeps all outputs on the device and joins them."""
    model = ResNet((32, 64, 128)).to(DEVICE).eval()
    kept = [model(pictures(batch, 160)) for _ in range(12)]
    torch.cat(kept).argmax(-1)


PROGRAMS = {f.__name__: f for f in (resnet, unet, autoencoder, decoder, eager_decoder, decoding, accumulation, seq2seq,
                                    recurrent, gan, policy, diffusion, contrastive, gathered)}


def main(programs):
    programs[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps({"peak_allocated_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main(PROGRAMS)
