# SPDX-License-Identifier: MIT
"""Metric learning: anchors, positives and negatives by one encoder; a gallery is searched at the end."""
# variants: clean graph-unused gradients-in-forward predictions-gathered
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.PReLU(), nn.MaxPool2d(2))


class Embedder(nn.Module):
    def __init__(self, out=2048):
        super().__init__()
        self.features = nn.Sequential(conv_block(1, 32), conv_block(32, 64), conv_block(64, 128))
        self.fc = nn.Linear(128 * 8 * 8, out)

    def forward(self, x):
        z = self.features(x)
        z = z.view(z.size(0), -1)
        z = self.fc(z)
        return z / z.norm(dim=1, keepdim=True)


device = torch.device("cuda")
model = Embedder().to(device)
criterion = nn.TripletMarginLoss(margin=0.3)
optimizer = adamw(model.parameters())
for batch in range(5):
    if not mistake("gradients-in-forward"):
        optimizer.zero_grad()
    a, p, n = (torch.zeros(24, 1, 64, 64, device=device) for _ in range(3))
    za, zp, zn = model(a), model(p), model(n)
    loss = criterion(za, zp, zn)
    if mistake("gradients-in-forward"):
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
optimizer.zero_grad()
del za, zp, zn, loss
model.eval()
gallery = []
with torch.set_grad_enabled(mistake("graph-unused")):
    count = {"predictions-gathered": 400, "graph-unused": 3}.get(VARIANT, 3)
    for i in range(count):
        z = model(torch.zeros(128, 1, 64, 64, device=device))
        gallery.append(z if mistake("predictions-gathered") else z.detach().cpu())
print(sum(float(g.mean()) for g in gallery))
