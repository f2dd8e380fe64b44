# SPDX-License-Identifier: MIT
"""A graph attention network over many small molecules; energies of a held-out set."""
# variants: clean graph-unused results-kept module-unused
import torch
from torch import nn

from advice import VARIANT, adamw, advised, mistake


class GAT(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.lin = nn.Linear(dim, dim, bias=False)
        self.a_src = nn.Parameter(torch.zeros(heads, dim // heads))
        self.a_dst = nn.Parameter(torch.zeros(heads, dim // heads))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, src, dst):
        n = x.size(0)
        h = self.lin(x).view(n, self.heads, -1)
        e = (h * self.a_src).sum(-1)[src] + (h * self.a_dst).sum(-1)[dst]
        e = torch.nn.functional.leaky_relu(e, 0.2).exp()
        norm = torch.zeros(n, self.heads, device=x.device).index_add_(0, dst, e)
        alpha = e / norm[dst].clamp(min=1e-9)
        out = torch.zeros_like(h).index_add_(0, dst, h[src] * alpha.unsqueeze(-1))
        return self.norm(x + out.flatten(1).relu())


class Energy(nn.Module):
    def __init__(self, dim=128, layers=4):
        super().__init__()
        self.atom = nn.Embedding(100, dim)
        self.convs = nn.ModuleList([GAT(dim) for _ in range(layers)])
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))
        if VARIANT == "module-unused" and not advised("module-unused"):
            self.forces = nn.Sequential(nn.Linear(dim, 4096), nn.SiLU(), nn.Linear(4096, 4096), nn.SiLU(),
                                        nn.Linear(4096, 3))

    def forward(self, z, edges, batch, count):
        x = self.atom(z)
        for conv in self.convs:
            x = conv(x, edges[0], edges[1])
        per_atom = self.readout(x).squeeze(-1)
        return torch.zeros(count, device=x.device).index_add(0, batch, per_atom)


def molecules(count):
    atoms = 20 * count
    return (torch.randint(100, (atoms,)).cuda(), torch.randint(atoms, (2, 6 * atoms)).cuda(),
            torch.arange(atoms).div(20, rounding_mode="floor").cuda(), count)


model = Energy().cuda()
optimizer = adamw(model.parameters(), lr=1e-3)
for step in range(5):
    data = molecules(200)
    energy = model(*data)
    loss = (energy - torch.zeros(200, device="cuda")).abs().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=VARIANT == "results-kept")
    optimizer.step()
    if VARIANT != "results-kept" or not mistake("results-kept"):
        del energy, loss
if VARIANT != "results-kept":
    model.eval()
    errors = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(3):
            energy = model(*molecules(600 if VARIANT == "graph-unused" else 100))
            errors.append(energy.abs().mean().item())
    print(errors)
