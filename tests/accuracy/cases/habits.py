# SPDX-License-Identifier: MIT
"""Other people's habits: gradients that are zeroed in place, layers of one's own, attacks, scores without a loss."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn


@case(family="table by hand", mode="autocast bf16, gradients kept and zeroed, batch norms, dropout", roles={"*": "mlp"},
      hard=True)
def zeroed_in_place():
    widths = [256, 2048, 2048, 2048, 128]
    parts = [p for a, b in zip(widths, widths[1:])
             for p in (nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.2))]
    net = nn.Sequential(*parts[:-3]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    watch(net, optimizer)
    for step in range(3):
        for micro in range(2):
            x, y = torch.randn(4096, 256).to("cuda"), torch.randn(4096, 128).to("cuda")
            with torch.autocast("cuda", torch.bfloat16):
                made = net(x)
                loss = F.smooth_l1_loss(made, y)
            stage(f"forward-{step}.{micro}", inputs="x, y", activations="made")
            loss.backward()
            stage(f"backward-{step}.{micro}", inputs="x, y", activations="made")
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


class Thin(nn.Module):
    """A frozen layer and a thin one beside it."""

    def __init__(self, rows, columns, rank=32):
        super().__init__()
        self.old = nn.Linear(columns, rows).requires_grad_(False)
        self.down, self.up = nn.Linear(columns, rank, bias=False), nn.Linear(rank, rows, bias=False)

    def forward(self, x):
        return self.old(x) + 2 * self.up(self.down(x))


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.level, self.turn = nn.LayerNorm(width), nn.GELU()
        self.first, self.second = Thin(4 * width, width), Thin(width, 4 * width)

    def forward(self, x):
        return x + self.second(self.turn(self.first(self.level(x))))


@case(family="thin layers by hand", mode="fp32, frozen base, only the thin ones trained",
      roles={":Thin": "mlp", ":GELU": "mlp"}, hard=True)
def thin_layers():
    net = nn.Sequential(*(Wide(512) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad])
    watch(net, optimizer)
    for step in range(3):
        x, y = torch.randn(2048, 512, device="cuda"), torch.randn(2048, 512, device="cuda")
        loss = F.mse_loss(net(x), y)
        stage(f"forward-{step}", inputs="x, y")
        loss.backward()
        stage(f"backward-{step}", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


@case(family="plain MLP", mode="trained on inputs that an attack moved", roles={"*": "mlp"}, heads=["4"], hard=True)
def attacked():
    net = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 128)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    watch(net, optimizer)
    for step in range(3):
        x, y = torch.rand(4096, 1024).cuda(), torch.randint(128, (4096,)).cuda()
        x.requires_grad_(True)
        slope, = torch.autograd.grad(F.cross_entropy(net(x), y), x)
        stage(f"attack-{step}", inputs="x, y", activation_gradients="slope")
        moved = (x + 0.03 * slope.sign()).detach()
        loss = F.cross_entropy(net(moved), y)
        stage(f"forward-{step}", inputs="x, y, moved", activation_gradients="slope")
        loss.backward()
        stage(f"backward-{step}", inputs="x, y, moved", activation_gradients="slope")
        optimizer.step()
        optimizer.zero_grad()


class Reader(nn.Module):
    def __init__(self, words=16000, width=320):
        super().__init__()
        self.words, self.body = nn.Embedding(words, width), Wide(width)
        self.say = nn.Linear(width, words)

    def forward(self, ids):
        return self.say(self.body(self.words(ids)))


@case(family="words by thin layers", mode="bf16, surprise of each word without gradients",
      roles={":Thin": "mlp", ":GELU": "mlp"}, heads=["say"], hard=True)
def surprised():
    net = Reader().cuda().bfloat16().eval()
    watch(net)
    per_word = []
    with torch.no_grad():
        for row in range(4):
            ids = torch.randint(16000, (8, 128)).cuda()
            scores = net(ids)[:, :-1].float()
            per_word.append(F.cross_entropy(scores.transpose(1, 2), ids[:, 1:], reduction="none"))
            chances = scores.softmax(-1)
            stage(f"read-{row}", inputs="ids", user="per_word")
            del chances, scores


@case(family="pictures by a frozen network", mode="fp32, only a picture is trained, towards features kept from before",
      roles={":Conv2d": "conv", ":ReLU": "conv"})
def painted():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU())
    net = net.cuda().requires_grad_(False)
    watch(net)
    original = torch.rand(1, 3, 512, 512).cuda()
    with torch.no_grad():
        wanted = net(original)
    picture = nn.Parameter(original.clone())
    optimizer = torch.optim.Adam([picture], 0.02)
    for step in range(3):
        loss = F.mse_loss(net(picture), wanted)
        stage(f"forward-{step}", inputs="original", weights="picture", user="wanted")
        optimizer.zero_grad()
        loss.backward()
        stage(f"backward-{step}", inputs="original", weights="picture", gradients="picture.grad", user="wanted")
        optimizer.step()


@case(family="plain MLP", mode="fp32, held to what it returned before its first step", roles={"*": "mlp"})
def held_back():
    net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    watch(net, optimizer)
    x = torch.rand(8192, 512).cuda()
    net.eval()
    with torch.no_grad():
        before = net(x)
    net.train()
    for step in range(3):
        now = net(x)
        loss = now.square().mean() + F.mse_loss(now, before)
        stage(f"forward-{step}", inputs="x", activations="now", user="before")
        loss.backward()
        stage(f"backward-{step}", inputs="x", activations="now", user="before")
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
