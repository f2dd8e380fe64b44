# SPDX-License-Identifier: MIT
import torch
from torch import nn

net = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 64)).cuda()
optimizer = torch.optim.Adam(net.parameters())
for step in range(4):
    x, y = torch.randn(1500, 256, device="cuda"), torch.randn(1500, 64, device="cuda")
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
