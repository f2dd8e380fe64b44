# SPDX-License-Identifier: MIT
"""Actions in videos: 3-d convolutions, then a transformer of torch over the frames; features are stored at the end."""
# variants: clean predictions-gathered graph-unused optimizer-burst
import torch
from torch import nn

from advice import VARIANT, adamw, mistake


class VideoNet(nn.Module):
    def __init__(self, classes=400, dim=256):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 32, (3, 5, 5), (1, 2, 2), (1, 2, 2)), nn.BatchNorm3d(32), nn.ReLU(),
            nn.Conv3d(32, 64, 3, (1, 2, 2), 1), nn.BatchNorm3d(64), nn.ReLU(),
            nn.Conv3d(64, dim, 3, (1, 2, 2), 1), nn.BatchNorm3d(dim), nn.ReLU())
        layer = nn.TransformerEncoderLayer(dim, 8, 1024, dropout=0.1, batch_first=True, norm_first=True)
        self.temporal = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classify = nn.Linear(dim, classes)

    def forward(self, video):
        x = self.stem(video)
        frames = x.mean((3, 4)).transpose(1, 2)
        frames = self.temporal(frames)
        return self.classify(frames.mean(1)), x


net = VideoNet(classes=60000 if VARIANT == "optimizer-burst" else 400).cuda()
optimizer = adamw(net.parameters(), lr=1e-4)
if VARIANT == "optimizer-burst":
    pass
rows = 1 if VARIANT == "optimizer-burst" else 4
for step in range(4):
    video = torch.zeros(rows, 3, 8, 64, 64).cuda()
    label = torch.zeros(rows, dtype=torch.long).cuda()
    scores, _ = net(video)
    loss = nn.functional.cross_entropy(scores, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
del scores, loss, _
if VARIANT != "optimizer-burst":
    net.train(False)
    features = {}
    with torch.set_grad_enabled(mistake("graph-unused")):
        for i in range(50 if VARIANT == "predictions-gathered" else 3):
            scores, x = net(torch.zeros(16 if VARIANT == "graph-unused" else 8, 3, 8, 64, 64).cuda())
            features[i] = x if mistake("predictions-gathered") else x.cpu()
            del scores, x
    print(len(features), sum(f.mean().item() for f in features.values()))
