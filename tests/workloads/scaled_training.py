# SPDX-License-Identifier: MIT
"""Mixed precision with a GradScaler, which performs a step where the device says that no gradient is infinite."""
import torch

STEPS = 8

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
performed = []
step = optimizer.step
optimizer.step = lambda *arguments, **keywords: performed.append(step(*arguments, **keywords))

values = set()
for _ in range(STEPS):
    batch = torch.randn(8, 64).cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    values.add(loss.item())
print(f"performed {len(performed)} of {STEPS} losses {sorted(values)}")
