# SPDX-License-Identifier: MIT
"""The rest of the ten of ten_fresh.py, with loops of their own: faces, clicks, molecules, crops, gated recurrences."""
import copy
import itertools

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from program import case, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Brush(nn.Module):
    """A convolution whose weights each picture's style scales, as one of as many groups as there are pictures."""

    def __init__(self, i, o, w, k=3, even=True):
        super().__init__()
        self.even, self.pad = even, k // 2
        self.kernel, self.tint = nn.Parameter(torch.randn(o, i, k, k) / (i * k * k) ** 0.5), nn.Linear(w, i)

    def forward(self, x, w):
        b, c, height, width = x.shape
        kernels = self.kernel[None] * self.tint(w)[:, None, :, None, None]
        if self.even:
            kernels = kernels * torch.rsqrt(kernels.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.reshape(1, b * c, height, width), kernels.flatten(0, 1), padding=self.pad, groups=b)
        return y.view(b, -1, height, width)


class Stroke(nn.Module):
    def __init__(self, i, o, w):
        super().__init__()
        self.brush, self.grain, self.shift = Brush(i, o, w), nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(o))

    def forward(self, x, w):
        x = self.brush(x, w)
        x = x + self.grain * torch.randn(len(x), 1, *x.shape[2:], device=x.device) + self.shift[:, None, None]
        return F.leaky_relu(x, 0.2)


class Painter(nn.Module):
    """Each size adds its colours to those of the size before."""

    def __init__(self, z=256, w=256, widths=(128, 128, 128, 64, 32)):
        super().__init__()
        self.muse = nn.Sequential(*itertools.chain(*((nn.Linear(z if nr == 0 else w, w), nn.LeakyReLU(0.2))
                                                     for nr in range(4))))
        self.canvas = nn.Parameter(torch.randn(1, widths[0], 4, 4))
        pairs = list(zip((widths[0], *widths), widths))
        self.rough = nn.ModuleList(Stroke(i, o, w) for i, o in pairs)
        self.fine = nn.ModuleList(Stroke(o, o, w) for o in widths)
        self.colours = nn.ModuleList(Brush(o, 3, w, 1, even=False) for o in widths)

    def forward(self, z):
        w = self.muse(z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8))
        x, picture = self.canvas.expand(len(z), -1, -1, -1), 0.0
        for nr, (rough, fine, colours) in enumerate(zip(self.rough, self.fine, self.colours)):
            if nr:
                x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
                picture = F.interpolate(picture, scale_factor=2, mode="bilinear", align_corners=False)
            x = fine(rough(x, w), w)
            picture = picture + colours(x, w)
        return picture


class Halve(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.long = nn.Sequential(nn.Conv2d(i, i, 3, padding=1), nn.LeakyReLU(0.2), nn.AvgPool2d(2),
                                  nn.Conv2d(i, o, 3, padding=1), nn.LeakyReLU(0.2))
        self.short = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(i, o, 1, bias=False))

    def forward(self, x):
        return (self.long(x) + self.short(x)) * 0.5 ** 0.5


class Critic(nn.Module):
    def __init__(self, widths=(32, 64, 128, 128, 128)):
        super().__init__()
        self.eye = nn.Conv2d(3, widths[0], 1)
        self.halves = nn.Sequential(*(Halve(i, o) for i, o in zip(widths, widths[1:])))
        self.mind = nn.Conv2d(widths[-1] + 1, widths[-1], 3, padding=1)
        self.verdict = nn.Sequential(nn.Linear(widths[-1] * 16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))

    def forward(self, x):
        x = self.halves(self.eye(x))
        spread = (x.var(0, unbiased=False) + 1e-8).sqrt().mean().expand(len(x), 1, *x.shape[2:])
        x = F.leaky_relu(self.mind(torch.cat([x, spread], 1)), 0.2)
        return self.verdict(x.flatten(1))


# What joins sizes, and what the critic makes between its parts, is of no kind.
@case(family="style GAN by hand", mode="scaled kernels in groups, penalty of gradients, average painter, fp32", steps=4,
      roles={":Halve": "residual", "verdict": "mlp", "verdict.*": "mlp", "muse": "mlp", "muse.*": "mlp",
             "*.tint": "mlp", ":Critic": "other", ":Painter": "other", "*": "conv"},
      stages=("forward", "backward", "optimizer", "evaluation"))
def faces():
    painter, critic = Painter().cuda(), Critic().cuda()
    smooth = copy.deepcopy(painter).eval().requires_grad_(False)
    watch(smooth)
    paints, judges = (torch.optim.Adam(part.parameters(), lr=2e-3, betas=(0.0, 0.99)) for part in (painter, critic))
    pictures, unseen = torch.rand(64, 3, 64, 64), torch.rand(16, 3, 64, 64)
    for nr, (real,) in enumerate(DataLoader(TensorDataset(pictures), 16, shuffle=True)):
        real = real.cuda().requires_grad_(nr % 2 == 0)
        fake = painter(torch.randn(16, 256, device="cuda")).detach()
        critic.requires_grad_(True)
        yes, no = critic(real), critic(fake)
        loss = F.softplus(-yes).mean() + F.softplus(no).mean()
        if real.requires_grad:
            slope, = torch.autograd.grad(yes.sum(), real, create_graph=True)
            loss = loss + 5.0 * slope.square().sum((1, 2, 3)).mean()
        judges.zero_grad()
        loss.backward()
        judges.step()

        critic.requires_grad_(False)
        paints.zero_grad()
        F.softplus(-critic(painter(torch.randn(16, 256, device="cuda")))).mean().backward()
        paints.step()
        with torch.no_grad():
            for slow, fast in zip(smooth.parameters(), painter.parameters()):
                slow.lerp_(fast, 0.01)
    with torch.no_grad():
        print(critic(unseen.cuda()).mean().shape)
        print(smooth(torch.randn(16, 256, device="cuda")).clamp(0, 1).cpu().shape)


class Hoard(nn.Module):
    """Big tables, of each the sum of some rows."""

    def __init__(self, sizes, d):
        super().__init__()
        self.shelves = nn.ModuleList(nn.EmbeddingBag(size, d, mode="sum", sparse=True) for size in sizes)

    def forward(self, picks, starts):
        return [shelf(pick, start) for shelf, pick, start in zip(self.shelves, picks, starts)]


class Stack(nn.Sequential):
    def __init__(self, *sizes):
        super().__init__(*itertools.chain(*((nn.Linear(i, o), nn.ReLU()) for i, o in zip(sizes, sizes[1:]))))


class Pairs(nn.Module):
    """The product of each feature with each other one."""

    def __init__(self, nr):
        super().__init__()
        self.register_buffer("where", torch.tril_indices(nr, nr, -1))

    def forward(self, dense, rows):
        both = torch.stack([dense, *rows], 1)
        products = both @ both.mT
        return torch.cat([dense, products[:, self.where[0], self.where[1]]], 1)


class Clicker(nn.Module):
    def __init__(self, sizes, d=64, nr_dense=13):
        super().__init__()
        self.hoard, self.ground, self.meet = Hoard(sizes, d), Stack(nr_dense, 512, 256, d), Pairs(len(sizes) + 1)
        nr_pairs = len(sizes) * (len(sizes) + 1) // 2
        self.top, self.last = Stack(d + nr_pairs, 1024, 512, 256), nn.Linear(256, 1)

    def forward(self, dense, picks, starts):
        return self.last(self.top(self.meet(self.ground(dense), self.hoard(picks, starts)))).squeeze(1)


@case(family="clicks by hand", mode="big tables with sparse gradients, SparseAdam and Adagrad, fp32, evaluated",
      roles={":Stack": "mlp", "*ground.*": "mlp", "*top.*": "mlp", ":Pairs": "other", "last": "other"},
      steps=5, stages=("forward", "backward", "optimizer", "evaluation"))
def clicks():
    torch.manual_seed(0)
    sizes = (40000, 30000, 25000, 20000, 12000, 9000, 4000, 1500, 800, 300, 60, 12)
    net = Clicker(sizes).cuda()
    sparse = torch.optim.SparseAdam(net.hoard.parameters(), lr=1e-3)
    dense = torch.optim.Adagrad((p for name, p in net.named_parameters() if not name.startswith("hoard")), lr=1e-2)

    def batch(size=4096):
        """Of each table, one to four rows."""
        counts = torch.randint(1, 5, (len(sizes), size))
        picks = [torch.randint(0, nr, (int(count.sum()),)) for nr, count in zip(sizes, counts)]
        starts = [F.pad(count.cumsum(0)[:-1], (1, 0)) for count in counts]
        return (torch.randn(size, 13).cuda(), [part.cuda() for part in picks], [part.cuda() for part in starts],
                torch.randint(0, 2, (size,)).float().cuda())

    for _ in range(5):
        numbers, picks, starts, clicked = batch()
        loss = F.binary_cross_entropy_with_logits(net(numbers, picks, starts), clicked)
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
    net.eval()
    chances = []
    with torch.inference_mode():
        for _ in range(2):
            numbers, picks, starts, _ = batch()
            chances.append(net(numbers, picks, starts).sigmoid().cpu())
    print(torch.cat(chances).shape)


class Atoms(nn.Module):
    """What an atom is, how many bonds it has, and a node that sees all."""

    def __init__(self, d):
        super().__init__()
        self.traits, self.bonds = nn.Embedding(600, d), nn.Embedding(16, d)
        self.all = nn.Parameter(torch.zeros(1, 1, d))

    def forward(self, traits, degrees):
        x = self.traits(traits).sum(2) + self.bonds(degrees)
        return torch.cat([self.all.expand(len(x), -1, -1), x], 1)


class Ways(nn.Module):
    """What the shortest way between two atoms adds to the scores of each view."""

    def __init__(self, views):
        super().__init__()
        self.lengths, self.kinds = nn.Embedding(40, views), nn.Embedding(30, views)

    def forward(self, lengths, kinds):
        bias = self.lengths(lengths) + self.kinds(kinds)
        return F.pad(bias.permute(0, 3, 1, 2), (1, 0, 1, 0))


class Glance(nn.Module):
    def __init__(self, d, views):
        super().__init__()
        self.views, self.ask, self.tell = views, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, bias):
        q, k, v = self.ask(x).unflatten(-1, (3, self.views, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * q.shape[-1] ** -0.5 + bias
        return self.tell((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Brew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wide, self.narrow = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.narrow(F.gelu(self.wide(x)))


class Rung(nn.Module):
    def __init__(self, d, views):
        super().__init__()
        self.calm, self.still, self.glance, self.brew = nn.LayerNorm(d), nn.LayerNorm(d), Glance(d, views), Brew(d)

    def forward(self, x, bias):
        x = x + self.glance(self.calm(x), bias)
        return x + self.brew(self.still(x))


class Ladder(nn.Module):
    def __init__(self, d=256, views=16, rungs=5):
        super().__init__()
        self.atoms, self.ways = Atoms(d), Ways(views)
        self.rungs = nn.ModuleList(Rung(d, views) for _ in range(rungs))
        self.end, self.gap = nn.LayerNorm(d), nn.Linear(d, 1)

    def forward(self, traits, degrees, lengths, kinds):
        x, bias = self.atoms(traits, degrees), self.ways(lengths, kinds)
        for rung in self.rungs:
            if self.training:
                x = torch.utils.checkpoint.checkpoint(rung, x, bias, use_reentrant=False)
            else:
                x = rung(x, bias)
        return self.gap(self.end(x[:, 0])).squeeze(1)


@case(family="graph transformer by hand", mode="ways between atoms as bias, checkpointing, autocast bf16, validated",
      roles={":Atoms": "embedding", ":Ways": "embedding", ":Glance": "attention", "*.glance.*": "attention",
             ":Brew": "mlp", "*.brew.*": "mlp", ":Rung": "residual", "gap": "other"}, steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"))
def molecules():
    ladder = Ladder().to("cuda")
    optimizer = torch.optim.AdamW(ladder.parameters(), lr=2e-4, betas=(0.9, 0.999), weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda nr: min(1.0, (nr + 1) / 10))

    def graphs(nr, atoms=63):
        return TensorDataset(torch.randint(0, 600, (nr, atoms, 9)), torch.randint(0, 16, (nr, atoms)),
                             torch.randint(0, 40, (nr, atoms, atoms)), torch.randint(0, 30, (nr, atoms, atoms)),
                             torch.randn(nr))

    def miss(batch):
        *graph, gap = (part.to("cuda", non_blocking=True) for part in batch)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = ladder(*graph)
        return F.l1_loss(found.float(), gap)

    tests = DataLoader(graphs(96), 48)
    for _ in range(2):
        ladder.train()
        for batch in DataLoader(graphs(96), 48, shuffle=True):
            optimizer.zero_grad(set_to_none=True)
            miss(batch).backward()
            nn.utils.clip_grad_norm_(ladder.parameters(), 5.0)
            optimizer.step()
            warm.step()
        ladder.eval()
        with torch.no_grad():
            print(sum(miss(batch).item() for batch in tests))


class SelfAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads, self.qkv, self.proj = num_heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class LayerScale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 1e-5))

    def forward(self, x):
        return x * self.gamma


class ViTBlock(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ls1, self.ls2 = LayerScale(dim), LayerScale(dim)
        self.attn = SelfAttention(dim, num_heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class Backbone(nn.Module):
    def __init__(self, dim=192, depth=2, num_heads=3, patch=8, size=96):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token, self.side = nn.Parameter(torch.zeros(1, 1, dim)), size // patch
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, dim, self.side, self.side))
        self.blocks, self.norm = nn.ModuleList(ViTBlock(dim, num_heads) for _ in range(depth)), nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patch_embed(x)
        pos = self.pos_embed
        if x.shape[-1] != self.side:
            pos = F.interpolate(pos, size=x.shape[-2:], mode="bilinear", align_corners=False)
        x = (x + pos).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


class MultiCrop(nn.Module):
    """Crops of one size at a time, then the head for all."""

    def __init__(self, dim=192, hidden=2048, bottleneck=256, prototypes=1024):
        super().__init__()
        self.backbone = Backbone(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                 nn.Linear(hidden, bottleneck))
        self.last_layer = nn.Linear(bottleneck, prototypes, bias=False)

    def forward(self, *crops):
        x = torch.cat([self.backbone(crop) for crop in crops])
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


def embed_crops(network, *crops):
    return network(*crops)


def dino_loss(student_out, teacher_out, center, ncrops, temperature=0.1, teacher_temperature=0.04):
    student_out = (student_out.float() / temperature).chunk(ncrops)
    teacher_out = F.softmax((teacher_out.float() - center) / teacher_temperature, dim=-1).detach().chunk(2)
    losses = [-(q * F.log_softmax(v, dim=-1)).sum(-1).mean() for nr, q in enumerate(teacher_out)
              for crop, v in enumerate(student_out) if crop != nr]
    return sum(losses) / len(losses)


# Of 21 pictures: with factors of 3 and 7, no activation has as many bytes as a cast (the option `casts`).
@case(family="torch.compile", mode="DINO: student and teacher compiled, crops of two sizes, autocast bf16", hooks=False,
      casts=True, functions={"embed_crops": "other", "dino_loss": "other", "autotune_to_one_config": "workspace/other"},
      steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def crops_compiled():
    student, teacher = MultiCrop().cuda(), MultiCrop().cuda()
    teacher.load_state_dict(student.state_dict())
    teacher.requires_grad_(False)
    center = torch.zeros(1, 1024, device="cuda")
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4, weight_decay=0.04)
    watch(student, teacher, optimizer)
    # Else kernels of several configurations, and padded products, are run as often as there is time, on copies.
    options = {"triton.autotune_pointwise": False, "shape_padding": False}
    fast_student, fast_teacher = torch.compile(student, options=options), torch.compile(teacher, options=options)
    for it in range(4):
        views = [torch.randn(21, 3, size, size).cuda() for size in (96,) * 2 + (48,) * 4]
        large, small = torch.cat(views[:2]), torch.cat(views[2:])
        stage("crops", inputs="views, large, small", buffers="center")
        with torch.autocast("cuda", torch.bfloat16):
            with torch.no_grad():
                teacher_out = embed_crops(fast_teacher, large)
            student_out = embed_crops(fast_student, large, small)
            loss = dino_loss(student_out, teacher_out, center, 6)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 3.0)
        if it < 1:
            student.last_layer.weight.grad = None
        optimizer.step()
        with torch.no_grad():
            center.lerp_(teacher_out.float().mean(0, keepdim=True), 0.1)
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.mul_(0.996).add_(fast, alpha=0.004)


def scan(log_decay, log_values):
    """h[t] = decay[t] * h[t - 1] + values[t], for all t at once, in logarithms."""
    decays = log_decay.cumsum(1)
    return (decays + (log_values - decays).logcumsumexp(1)).exp()


class GatedRecurrence(nn.Module):
    """A GRU whose gates do not see its state."""

    def __init__(self, d, expansion=1.5):
        super().__init__()
        inner = int(d * expansion)
        self.to_hidden_and_gate, self.to_out = nn.Linear(d, 2 * inner, bias=False), nn.Linear(inner, d, bias=False)

    def forward(self, x):
        hidden, gate = self.to_hidden_and_gate(x).chunk(2, dim=-1)
        log_hidden = torch.where(hidden >= 0, (F.relu(hidden) + 0.5).log(), -F.softplus(-hidden))
        return self.to_out(scan(-F.softplus(gate), -F.softplus(-gate) + log_hidden))


class RecurrentBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2, self.recurrence = nn.RMSNorm(d), nn.RMSNorm(d), GatedRecurrence(d)
        self.conv = nn.Conv1d(d, d, 3, groups=d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.conv(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
        x = x + self.recurrence(self.norm1(x))
        return x + self.ff(self.norm2(x))


class RecurrentLM(nn.Module):
    def __init__(self, num_tokens=6000, d=256, depth=2):
        super().__init__()
        self.token_emb, self.norm = nn.Embedding(num_tokens, d), nn.RMSNorm(d)
        self.layers = nn.ModuleList(RecurrentBlock(d) for _ in range(depth))
        self.to_logits = nn.Linear(d, num_tokens, bias=False)

    def forward(self, ids):
        x = self.token_emb(ids[:, :-1])
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.to_logits(self.norm(x)).transpose(1, 2), ids[:, 1:])


def forward_loss(call, ids):
    return call(ids)


@case(family="torch.compile", mode="minGRU decoder with its loss, whole graph, fp32, two micro-batches, clipped",
      hooks=False, functions={"forward_loss": "other", "autotune_to_one_config": "workspace/other"}, vocabulary=6000,
      steps=4, micro_batches=2, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def gates_compiled():
    model = RecurrentLM().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    watch(model, optimizer)
    call = torch.compile(model, fullgraph=True, options={"triton.autotune_pointwise": False})
    text = torch.randint(0, 6000, (50_000,))

    def sample(rows=6, length=161):
        ids = torch.stack([text[at:at + length] for at in torch.randint(0, len(text) - length, (rows,))]).cuda()
        stage("rows", inputs="ids")
        return ids

    for _ in range(4):
        for _ in range(2):
            loss = forward_loss(call, sample())
            (loss / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
