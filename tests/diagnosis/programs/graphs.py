# SPDX-License-Identifier: MIT
"""A graph neural net: messages along edges are added up at the nodes; one large graph per step."""
# variants: clean graph-unused results-kept module-unused
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, adamw, advised, mistake

NODES, EDGES, WIDTH = 20000, 120000, 128


class Messages(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge, self.node = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, sources, targets):
        messages = F.relu(self.edge(torch.cat([x[sources], x[targets]], -1)))
        total = torch.zeros_like(x).index_add_(0, targets, messages)
        return x + F.relu(self.node(torch.cat([x, total], -1)))


class Pretraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(6)))

    def forward(self, x):
        return self.decoder(x)


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(32, WIDTH)
        self.rounds = nn.ModuleList(Messages() for _ in range(3))
        self.leave = nn.Linear(WIDTH, 40)
        if VARIANT == "module-unused" and not advised("module-unused"):
            self.pretraining = Pretraining()

    def forward(self, x, edges):
        x = self.enter(x)
        for messages in self.rounds:
            x = messages(x, edges[0], edges[1])
        return self.leave(x)


def make_graph(scale=1):
    edges = torch.zeros(2, scale * EDGES, dtype=torch.long)
    return torch.zeros(scale * NODES, 32).cuda(), edges.cuda(), torch.zeros(scale * NODES, dtype=torch.long).cuda()


net = GraphNet().cuda()
optimizer = adamw(net.parameters())
for _ in range(4):
    features, edges, labels = make_graph()
    scores = net(features, edges)
    loss = F.cross_entropy(scores, labels)
    loss.backward(retain_graph=VARIANT == "results-kept")
    optimizer.step()
    optimizer.zero_grad()
    if not mistake("results-kept"):
        del scores, loss
if VARIANT == "graph-unused":
    with torch.set_grad_enabled(mistake("graph-unused")):
        features, edges, labels = make_graph(3)
        print((net(features, edges).argmax(-1) == labels).float().mean().item())
