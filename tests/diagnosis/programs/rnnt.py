# SPDX-License-Identifier: MIT
"""A transducer: encoder of frames, predictor of characters, a joint net over all pairs; greedy search at the end."""
# variants: clean logits-kept-whole graph-unused gradients-in-forward
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from advice import CHUNKS, VARIANT, adamw, mistake

V = 512


class Transducer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(80, 512, num_layers=3, batch_first=True)
        self.embed = nn.Embedding(V, 512)
        self.predictor = nn.LSTM(512, 512, batch_first=True)
        self.enc_proj, self.pred_proj = nn.Linear(512, 320), nn.Linear(512, 320)
        self.out = nn.Linear(320, V)

    def hear(self, frames):
        return self.enc_proj(self.encoder(frames)[0])

    def guess(self, chars):
        return self.pred_proj(self.predictor(self.embed(chars))[0])

    def joint(self, f, g):
        return self.out(torch.tanh(f.unsqueeze(2) + g.unsqueeze(1)))


def path_loss(logits, chars):
    """Stands for the recursion over the lattice: every node's log probabilities are used."""
    logp = F.log_softmax(logits.float(), dim=-1)
    blank = logp[..., 0].sum()
    index = chars[:, None, :, None].expand(-1, logp.shape[1], -1, 1)
    return -(blank + logp.gather(3, index).sum()) / logits.shape[0]


def piece(model, f, g, chars):
    return path_loss(model.joint(f, g), chars)


def main():
    model = Transducer().cuda()
    opt = adamw(model.parameters())
    batch, frames, chars = 8, 80, 20
    for step in range(4):
        x = torch.randn(batch, frames, 80).cuda()
        y = torch.randint(V, (batch, chars)).cuda()
        if not mistake("gradients-in-forward"):
            opt.zero_grad(set_to_none=True)
        f, g = model.hear(x), model.guess(y)
        if mistake("gradients-in-forward"):
            opt.zero_grad()
        if mistake("logits-kept-whole"):
            loss = path_loss(model.joint(f, g), y)
        else:
            loss = 0
            for fi, gi, yi in zip(f.chunk(CHUNKS), g.chunk(CHUNKS), y.chunk(CHUNKS)):
                loss = loss + checkpoint(piece, model, fi, gi, yi, use_reentrant=False)
        loss.backward()
        opt.step()
        print(step, loss.item())
        del f, g, loss
    opt.zero_grad()
    model.eval()
    with torch.set_grad_enabled(mistake("graph-unused")):
        f = model.hear(torch.randn(64 if VARIANT == "graph-unused" else 8, 400, 80).cuda())
        last = torch.zeros(f.shape[0], 1, dtype=torch.long, device="cuda")
        for t in range(10):
            last = model.joint(f[:, t:t + 1], model.guess(last))[:, 0].argmax(-1)
    print(last.shape)


main()
