# SPDX-License-Identifier: MIT
"""A radiance field: points along rays through an MLP; test views are drawn ray by ray in chunks."""
# variants: clean graph-unused predictions-gathered results-kept
import torch
from torch import nn

from advice import VARIANT, mistake


class Field(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(63 if not i else width, width) for i in range(5))
        self.density, self.colour = nn.Linear(width, 1), nn.Linear(width, 3)

    def forward(self, x):
        waves = torch.cat([x, *(f(x * 2 ** i) for i in range(10) for f in (torch.sin, torch.cos))], -1)
        for layer in self.layers:
            waves = layer(waves).relu()
        return self.density(waves), self.colour(waves)


def render(field, rays):
    density, colour = field(rays[:, None, :3] + torch.linspace(0, 1, 64, device="cuda")[:, None] * rays[:, None, 3:])
    alpha = 1 - torch.exp(-density.relu())
    passed = torch.cumprod(1 - alpha + 1e-10, 1)
    return (alpha * passed * colour.sigmoid()).sum(1)


def draw(field, chunks, rows):
    drawn = []
    with torch.set_grad_enabled(mistake("graph-unused")):
        for _ in range(chunks):
            pixels = render(field, torch.zeros(rows, 6, device="cuda"))
            wide = pixels.detach().repeat(1, 400) if VARIANT == "predictions-gathered" else pixels.detach()
            drawn.append(wide if mistake("predictions-gathered") else wide.cpu())
    return torch.cat([d.mean(0, keepdim=True) for d in drawn]).cpu()


field = Field().cuda()
optimizer = torch.optim.Adam(field.parameters(), foreach=False)
for step in range(6):
    colours = render(field, torch.zeros(1024, 6, device="cuda"))
    loss = colours.square().mean()
    loss.backward(retain_graph=VARIANT == "results-kept")
    optimizer.step()
    optimizer.zero_grad()
    if VARIANT == "results-kept" and not mistake("results-kept"):
        del loss, colours
    if step % 3 == 2 and VARIANT != "results-kept":
        draw(field, 40 if VARIANT == "predictions-gathered" else 3, 4096)
