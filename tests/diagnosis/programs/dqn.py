# SPDX-License-Identifier: MIT
"""Deep Q-learning: a replay buffer on the device, a target network."""
# variants: buffer deque
import collections
import copy

import torch
from torch import nn

from advice import VARIANT, adamw

online = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Flatten(),
                       nn.Linear(5184, 512), nn.ReLU(), nn.Linear(512, 18)).cuda()
target = copy.deepcopy(online)
optimizer = adamw(online.parameters())
frames = collections.deque(maxlen=600)
if VARIANT == "buffer":
    frames = torch.zeros(4096, 4, 84, 84, dtype=torch.uint8, device="cuda")
for turn in range(12):
    with torch.no_grad():
        for i in range(64):
            frame = torch.zeros(4, 84, 84, dtype=torch.uint8, device="cuda")
            if VARIANT == "buffer":
                frames[turn * 64 + i] = frame
            else:
                frames.append(frame)
            online(frame[None].float()).argmax().item()
    picked = torch.randint(64 * turn + 64 if VARIANT == "buffer" else len(frames), (32,))
    states = frames[picked.cuda()] if VARIANT == "buffer" else torch.stack([frames[i] for i in picked])
    with torch.no_grad():
        goal = target(states.float()).amax(1)
    loss = (online(states.float()).gather(1, torch.zeros(32, 1, dtype=torch.long).cuda())[:, 0] - goal).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if turn % 4 == 3:
        target.load_state_dict(online.state_dict())
