# SPDX-License-Identifier: MIT
"""Objects by queries: a ResNet of torchvision, an encoder and a decoder with attention of torch, matched boxes."""
# variants: clean attention-scores predictions-gathered gradients-in-forward
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, call, mistake


class Layer(nn.Module):
    def __init__(self, d, crosses):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, 8, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d, 8, batch_first=True) if crosses else None
        self.lin1, self.lin2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, memory=None):
        weights = mistake("attention-scores")
        x = self.n1(x + self.self_attn(x, x, x, need_weights=weights)[0])
        if self.cross_attn is not None:
            x = self.n2(x + self.cross_attn(x, memory, memory, need_weights=weights)[0])
        return self.n3(x + self.lin2(F.relu(self.lin1(x))))


class Finder(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        net = torchvision.models.resnet18(weights=None)
        self.backbone = nn.Sequential(nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool), net.layer1,
                                      net.layer2, net.layer3, net.layer4)
        self.project = nn.Conv2d(512, d, 1)
        self.encoder = nn.ModuleList([Layer(d, False) for _ in range(4)])
        self.decoder = nn.ModuleList([Layer(d, True) for _ in range(4)])
        self.queries = nn.Embedding(100, d)
        self.classes, self.boxes = nn.Linear(d, 92), nn.Linear(d, 4)

    def forward(self, pictures):
        x = pictures
        for part in self.backbone:
            x = call(part, x)
        memory = self.project(x).flatten(2).transpose(1, 2)
        for layer in self.encoder:
            memory = call(layer, memory)
        q = self.queries.weight.expand(len(pictures), -1, -1)
        for layer in self.decoder:
            q = call(layer, q, memory)
        return {"logits": self.classes(q), "boxes": self.boxes(q).sigmoid(), "memory": memory}


def main():
    size = 640 if VARIANT == "attention-scores" else 320
    model = Finder().cuda()
    opt = adamw(model.parameters())
    for epoch in range(2):
        model.train()
        for _ in range(2):
            pictures = torch.randn(4, 3, size, size).cuda()
            if not mistake("gradients-in-forward"):
                opt.zero_grad()
            out = model(pictures)
            loss = F.cross_entropy(out["logits"].flatten(0, 1), torch.zeros(400, dtype=torch.long).cuda())
            loss = loss + out["boxes"].abs().mean()
            if mistake("gradients-in-forward"):
                opt.zero_grad()
            loss.backward()
            opt.step()
            del out, loss, pictures
        if not mistake("gradients-in-forward"):
            opt.zero_grad()
        model.eval()
        found = []
        many = VARIANT == "predictions-gathered"
        with torch.inference_mode():
            for _ in range(14 if many else 5):
                out = model(torch.randn(16 if many else 4, 3, 320, 320).cuda())
                if not mistake("predictions-gathered"):
                    out = {key: value.cpu() for key, value in out.items()}
                found.append(out)
        print(len(found))
        del found, out


main()
