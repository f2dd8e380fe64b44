# SPDX-License-Identifier: MIT
"""Text to speech: phonemes to mel frames by convolutions and attention; a vocoder lies beside it."""
# variants: clean module-unused weights-twice graph-unused
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, mistake


class FFT(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.conv1, self.conv2 = nn.Conv1d(dim, 4 * dim, 9, padding=4), nn.Conv1d(4 * dim, dim, 1)

    def forward(self, x):
        y, _ = self.attn(x, x, x, need_weights=False)
        x = self.norm1(x + y)
        y = self.conv2(F.relu(self.conv1(x.transpose(1, 2)))).transpose(1, 2)
        return self.norm2(x + y)


class Acoustic(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.phonemes = nn.Embedding(100, dim)
        self.encoder = nn.ModuleList([FFT(dim) for _ in range(3)])
        self.decoder = nn.ModuleList([FFT(dim) for _ in range(3)])
        self.mel = nn.Linear(dim, 80)

    def forward(self, phonemes, repeat):
        x = self.phonemes(phonemes)
        for block in self.encoder:
            x = block(x)
        x = x.repeat_interleave(repeat, dim=1)
        for block in self.decoder:
            x = block(x)
        return self.mel(x)


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(80, 1024, 7, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(1024 >> i, 1024 >> (i + 1), 16, 8, 4) for i in range(3)])
        self.post = nn.Conv1d(128, 1, 7, padding=3)

    def forward(self, x):
        x = self.pre(x)
        for up in self.ups:
            x = up(F.leaky_relu(x, 0.1))
        return torch.tanh(self.post(x))


def checkpoint():
    path = os.path.join(tempfile.mkdtemp(), "acoustic.pt")
    torch.save({"model": Acoustic().state_dict(), "iteration": 1000}, path)
    return path


def main():
    model = Acoustic().cuda()
    if VARIANT == "weights-twice":
        state = torch.load(checkpoint(), map_location=torch.device("cuda" if mistake("weights-twice") else "cpu"))
        model.load_state_dict(state["model"])
    vocoder = Vocoder()
    if VARIANT == "module-unused" and not advised("module-unused"):
        vocoder = vocoder.cuda().eval()
    optimizer = adamw(model.parameters(), lr=1e-3)
    rows = 2 if VARIANT == "weights-twice" else 8
    for _ in range(4):
        phonemes = torch.randint(100, (rows, 40)).cuda()
        mel = model(phonemes, 5)
        loss = F.l1_loss(mel, torch.zeros_like(mel))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del mel, loss
    model.eval()
    with torch.set_grad_enabled(mistake("graph-unused")):
        mel = model(torch.randint(100, (32 if VARIANT == "graph-unused" else 4, 40)).cuda(), 5)
        print(mel.shape, vocoder.pre.weight.shape)


main()
