# SPDX-License-Identifier: MIT
"""Contrastive learning with a queue of keys and a momentum encoder: all of it is read later."""
# variants: queue list
import copy

import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised

SIZE = 16384

query = nn.Sequential(nn.Flatten(), nn.Linear(3072, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
key = copy.deepcopy(query).requires_grad_(False)
optimizer = torch.optim.SGD(query.parameters(), lr=0.1)
bank = F.normalize(torch.zeros(SIZE, 512).cuda(), dim=1)
memory, at = [], 0
for _ in range(8):
    images = torch.zeros(512, 3, 32, 32).cuda()
    q = F.normalize(query(images), dim=1)
    with torch.no_grad():
        for slow, fast in zip(key.parameters(), query.parameters()):
            slow.lerp_(fast, 0.01)
        k = F.normalize(key(images), dim=1)
    if VARIANT == "list":
        memory = (memory + [k])[-6:]
        negatives = torch.cat(memory)
    else:
        negatives = bank
    scores = torch.cat([(q * k).sum(1, keepdim=True), q @ negatives.T], 1) / 0.07
    loss = F.cross_entropy(scores, torch.zeros(512, dtype=torch.long).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if VARIANT != "list":
        bank[at:at + 512] = k
        at = (at + 512) % SIZE
