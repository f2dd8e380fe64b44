# SPDX-License-Identifier: MIT
"""Papers that cite each other: attention over edges by index; the lower layers are frozen after a while."""
# variants: clean graph-unused states-unused results-kept
import torch
from torch import nn
from torch.nn import functional as F

from advice import VARIANT, advised, mistake

NODES, EDGES = 6000, 40000


class Edges(nn.Module):
    def __init__(self, a, b, heads=4):
        super().__init__()
        self.heads, self.W = heads, nn.Linear(a, heads * b, bias=False)
        self.left, self.right = nn.Parameter(torch.zeros(heads, b)), nn.Parameter(torch.zeros(heads, b))

    def forward(self, x, edge):
        source, goal = edge
        h = self.W(x).view(len(x), self.heads, -1)
        e = F.leaky_relu((h * self.left).sum(-1)[source] + (h * self.right).sum(-1)[goal], 0.2)
        e = (e - e.amax()).exp()
        norm = torch.zeros(len(x), self.heads, device=x.device).index_add(0, goal, e)
        alpha = e / (norm[goal] + 1e-9)
        out = torch.zeros_like(h).index_add(0, goal, h[source] * alpha[..., None])
        return F.elu(out.flatten(1))


class Citations(nn.Module):
    def __init__(self, words=1433, classes=7):
        super().__init__()
        self.first, self.second = Edges(words, 64), Edges(256, 64)
        self.table = nn.Embedding(60000, 64) if VARIANT == "states-unused" else None
        self.last = nn.Linear(256, classes)

    def forward(self, x, edge, ids=None):
        h = self.second(self.first(x, edge), edge)
        if ids is not None:
            h = h + self.table(ids).repeat(1, 4)
        return self.last(h)


net = Citations().cuda()
x, edge = torch.rand(NODES, 1433).cuda(), torch.randint(NODES, (2, EDGES)).cuda()
y = torch.randint(7, (NODES,)).cuda()
ids = torch.randint(60000, (NODES,)).cuda() if VARIANT == "states-unused" else None
adam = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=5e-4, foreach=False)
for epoch in range(9):
    if VARIANT == "states-unused" and epoch == 2:
        net.table.requires_grad_(False)
        if advised("states-unused"):
            adam.state.pop(net.table.weight)
    few = edge[:, :100] if VARIANT == "states-unused" and epoch < 3 else edge
    out = net(x, few, ids)
    loss = F.cross_entropy(out, y)
    adam.zero_grad()
    loss.backward(retain_graph=VARIANT == "results-kept")
    adam.step()
    if not mistake("results-kept"):
        del out, loss
if VARIANT in ("clean", "graph-unused"):
    net.eval()
    more = torch.randint(NODES, (2, 3 * EDGES)).cuda()
    for _ in range(3):
        with torch.set_grad_enabled(mistake("graph-unused")):
            right = (net(x, more).argmax(1) == y).float().mean()
        print(right.item())
