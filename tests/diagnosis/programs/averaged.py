# SPDX-License-Identifier: MIT
"""A ConvNeXt of timm with an average of its weights (timm's own), started from a file."""
# variants: clean weights-twice gradients-in-forward optimizer-burst
import os
import tempfile

import timm
import torch
from timm.utils import ModelEmaV2
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, mistake

model = timm.create_model("convnext_atto", num_classes=1000)
path = os.path.join(tempfile.mkdtemp(), "start.pt")
torch.save({"model": model.state_dict(), "epoch": 3}, path)
start = torch.load(path, map_location="cuda" if mistake("weights-twice") else "cpu")
model.load_state_dict(start["model"])
model = model.cuda()
ema = ModelEmaV2(model, decay=0.99)
print("resumed at", start["epoch"])
has_burst = mistake("optimizer-burst") and not advised("optimizer-states-wide")
opt = torch.optim.AdamW(model.parameters()) if has_burst else adamw(model.parameters())
scaler = torch.amp.GradScaler()
rows = 1 if VARIANT == "optimizer-burst" else 2 if VARIANT == "weights-twice" else 4
late = mistake("gradients-in-forward")
for step in range(6):
    x, y = torch.randn(rows, 3, 160, 160, device="cuda"), torch.zeros(rows, dtype=torch.long, device="cuda")
    if not late:
        opt.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    if late:
        model.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    ema.update(model)
    del loss
if not late:
    opt.zero_grad()
with torch.no_grad():
    print(ema.module(torch.randn(2, 3, 160, 160, device="cuda")).shape)
