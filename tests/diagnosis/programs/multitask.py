# SPDX-License-Identifier: MIT
"""A trunk with heads for depth, normals and classes; the trunk is frozen for the last epochs; one head is idle."""
# variants: clean states-unused module-unused graph-unused
import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import VARIANT, advised, mistake


class DoubleConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=1)
        self.n1, self.n2 = nn.InstanceNorm2d(b, affine=True), nn.InstanceNorm2d(b, affine=True)

    def forward(self, x):
        x = F.elu(self.n1(self.c1(x)))
        return F.elu(self.n2(self.c2(x)))


class Head(nn.Module):
    def __init__(self, dim, out, wide=64):
        super().__init__()
        self.mid, self.out = nn.Conv2d(dim, wide, 3, padding=1), nn.Conv2d(wide, out, 3, padding=1)

    def forward(self, x):
        return F.interpolate(self.out(F.elu(self.mid(x))), scale_factor=4, mode="bilinear")


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.ModuleDict({"a": DoubleConv(3, 64), "b": DoubleConv(64, 256), "c": DoubleConv(256, 512)})
        self.heads = nn.ModuleDict({"depth": Head(512, 1), "normals": Head(512, 3)})
        if VARIANT == "module-unused" and not advised("module-unused"):
            self.heads["edges"] = Head(512, 512, 1024)

    def forward(self, x):
        x = self.trunk["a"](x)
        x = self.trunk["b"](F.max_pool2d(x, 2))
        x = self.trunk["c"](F.max_pool2d(x, 2))
        return {"depth": self.heads["depth"](x), "normals": self.heads["normals"](x)}


model = MultiTask().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
small = VARIANT in ("module-unused", "states-unused")
for epoch in range(9 if VARIANT == "states-unused" else 3):
    if epoch == 2 and VARIANT == "states-unused":
        model.trunk.requires_grad_(False)
        if advised("states-unused"):
            for p in model.trunk.parameters():
                optimizer.state.pop(p, None)
    rows = 1 if small and epoch < 2 else 6 if VARIANT == "states-unused" else 2 if small else 4
    image = torch.zeros(rows, 3, 64, 64).cuda()
    out = model(image)
    loss = out["depth"].abs().mean() + (1 - F.cosine_similarity(out["normals"], image)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del out, loss
if VARIANT in ("clean", "graph-unused"):
    model.eval()
    for _ in range(2):
        with torch.set_grad_enabled(mistake("graph-unused")):
            out = model(torch.zeros(12, 3, 64, 64).cuda())
            print({k: v.mean().item() for k, v in out.items()})
