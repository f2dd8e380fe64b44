# SPDX-License-Identifier: MIT
"""The rest of the ten of ten_more.py: here the program has a loop of its own."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from program import case, main, stage, watch
from torch import nn


class Subsampling(nn.Module):
    """A quarter of the frames."""

    def __init__(self, bands, d):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU())
        self.out = nn.Linear(64 * (bands // 4), d)

    def forward(self, x):
        x = self.conv(x[:, None])
        return self.out(x.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, d, drop):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(drop), nn.Linear(4 * d, d),
                                 nn.Dropout(drop))

    def forward(self, x):
        return self.net(self.norm(x))


class SelfAttention(nn.Module):
    def __init__(self, d, heads, drop):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(d), nn.Dropout(drop)
        self.mha = nn.MultiheadAttention(d, heads, drop, batch_first=True)

    def forward(self, x):
        x = self.norm(x)
        return self.drop(self.mha(x, x, x, need_weights=False)[0])


class ConvModule(nn.Module):
    def __init__(self, d, kernel, drop):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.net = nn.Sequential(nn.Conv1d(d, 2 * d, 1), nn.GLU(1), nn.Conv1d(d, d, kernel, padding=kernel // 2,
                                                                              groups=d),
                                 nn.BatchNorm1d(d), nn.SiLU(), nn.Conv1d(d, d, 1), nn.Dropout(drop))

    def forward(self, x):
        return self.net(self.norm(x).transpose(1, 2)).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self, d, heads, kernel=15, drop=0.1):
        super().__init__()
        self.ff1, self.ff2 = FeedForward(d, drop), FeedForward(d, drop)
        self.attn, self.conv, self.norm = SelfAttention(d, heads, drop), ConvModule(d, kernel, drop), nn.LayerNorm(d)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        x = x + self.attn(x)
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.norm(x)


class Conformer(nn.Module):
    def __init__(self, bands=80, d=192, depth=3, tokens=500):
        super().__init__()
        self.subsampling = Subsampling(bands, d)
        self.blocks = nn.Sequential(*(ConformerBlock(d, 4) for _ in range(depth)))
        self.head = nn.Linear(d, tokens)

    def forward(self, x):
        return self.head(self.blocks(self.subsampling(x)))


@case(family="DistributedDataParallel", mode="Conformer of two ranks, CTC, fp32, no_sync() in one of two micro-batches",
      roles={":FeedForward": "mlp", ":SelfAttention": "attention", "*.attn.*": "attention", ":LayerNorm": "norm",
             ":BatchNorm1d": "norm", ":ConvModule": "conv", "*.subsampling.out": "other", ":Subsampling": "conv",
             ":ConformerBlock": "residual"},
      functions={"DistributedDataParallel._pre_forward": "gradients", "_ddp_init_helper": "gradients",
                 "_sync_buffers": "communication"},
      heads=["*head"], steps=3, micro_batches=2, stages=("forward", "backward", "optimizer"), ranks=2,
      device="h100-80g,count=2", env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def transcripts():
    if "RANK" not in os.environ:
        os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(Conformer().cuda(), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda nr: min(1.0, (nr + 1) / 100))

    def loss_of():
        frames, labels = torch.randn(16, 400, 80).cuda(rank), torch.randint(1, 500, (16, 30)).cuda(rank)
        chances = model(frames).log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(chances, labels, (len(chances),) * 16, (30,) * 16, zero_infinity=True) / 2

    for _ in range(3):
        with model.no_sync():
            loss_of().backward()
        loss_of().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


def rms(x):
    return F.rms_norm(x, (x.shape[-1],))


class Rotary(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 1024 ** -torch.linspace(0, 1, dim // 2))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        cos, sin = self.cos[:x.shape[1], None].to(x.dtype), self.sin[:x.shape[1], None].to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads, length):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.rotary = Rotary(d // heads, length)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3 * self.heads, -1).chunk(3, 2)
        q, k = self.rotary(rms(q)), self.rotary(rms(k))
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class SquaredReLU(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc, self.proj = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        return self.proj(F.relu(self.fc(x)).square())


class Block(nn.Module):
    def __init__(self, d, heads, length):
        super().__init__()
        self.attn, self.mlp = CausalSelfAttention(d, heads, length), SquaredReLU(d)

    def forward(self, x):
        x = x + self.attn(rms(x))
        return x + self.mlp(rms(x))


class Speedy(nn.Module):
    """The second half of the layers gets the outputs of the first half."""

    def __init__(self, words=4000, d=384, depth=6, length=256):
        super().__init__()
        self.embed, self.lm_head = nn.Embedding(words, d), nn.Linear(d, words, bias=False)
        self.blocks = nn.ModuleList(Block(d, 6, length) for _ in range(depth))
        self.skips = nn.Parameter(torch.ones(depth // 2))

    def forward(self, ids, targets=None):
        x, kept, half = rms(self.embed(ids)), [], len(self.blocks) // 2
        for nr, block in enumerate(self.blocks):
            if nr >= half:
                x = x + self.skips[nr - half] * kept.pop()
            x = block(x)
            if nr < half:
                kept.append(x)
        logits = self.lm_head(rms(x))
        logits = 15 * torch.tanh(logits.float() / 15)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class Adam8bit(torch.optim.Optimizer):
    """Both moments in a byte per element, with a scale for each 256 of them."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.95), eps=1e-10, block=256):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "block": block})

    @staticmethod
    def encode(x, block):
        x = F.pad(x.flatten(), (0, -x.numel() % block)).view(-1, block)
        scale = x.abs().amax(1, keepdim=True).clamp(min=1e-12)
        return (x / scale * 127).round().to(torch.int8), scale

    @staticmethod
    def decode(code, scale, like):
        return (code.float() / 127 * scale).flatten()[:like.numel()].view_as(like)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (b1, b2), block = group["betas"], group["block"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state, grad = self.state[p], p.grad.float()
                if not state:
                    state["step"] = 0
                    state["m"], state["m_scale"] = self.encode(torch.zeros_like(grad), block)
                    state["v"], state["v_scale"] = self.encode(torch.zeros_like(grad), block)
                state["step"] += 1
                m = self.decode(state["m"], state["m_scale"], p).lerp_(grad, 1 - b1)
                v = self.decode(state["v"], state["v_scale"], p).square_().lerp_(grad.square(), 1 - b2)
                better = 1 - b1 ** state["step"], 1 - b2 ** state["step"]
                p.add_((m / better[0]) / ((v / better[1]).sqrt() + group["eps"]), alpha=-group["lr"])
                state["m"], state["m_scale"] = self.encode(m, block)
                state["v"], state["v_scale"] = self.encode(v.sqrt(), block)


@case(family="speed run", mode="Muon and an 8-bit Adam of its own, autocast bf16, two micro-batches, validated",
      roles={":CausalSelfAttention": "attention", "*.rotary": "attention", ":SquaredReLU": "mlp", ":Block": "residual",
             ":Speedy": "residual", "embed": "embedding", "lm_head": "other"}, functions={"rms": "norm"},
      heads=["lm_head"], steps=4, micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"))
def speed_run():
    model = Speedy().cuda()
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    rest = [model.embed.weight, model.lm_head.weight, model.skips]
    optimizers = [torch.optim.Muon(matrices, lr=0.02), Adam8bit(rest, lr=3e-3)]

    def batch():
        tokens = torch.randint(0, 4000, (8, 257), pin_memory=True)
        both = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        return (part.to("cuda", non_blocking=True) for part in both)

    for step in range(4):
        if step % 2 == 0:
            model.eval()
            with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
                losses = [model(*batch()) for _ in range(2)]
            print(torch.stack(losses).mean().shape)
        model.train()
        for _ in range(2):
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(*batch()) / 2
            loss.backward()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] *= 0.99
            optimizer.step()
        model.zero_grad(set_to_none=True)


def encode(x, bands):
    """Waves of each coordinate."""
    waves = x[..., None] * 2.0 ** torch.arange(bands, device=x.device)
    return torch.cat([x, waves.sin().flatten(-2), waves.cos().flatten(-2)], -1)


class NeRF(nn.Module):
    """Density and colour at points seen from a direction."""

    def __init__(self, d=256, points=63, views=27):
        super().__init__()
        self.pts_linears = nn.ModuleList(nn.Linear(points if nr == 0 else d + points * (nr == 4), d) for nr in range(8))
        self.views_linear, self.feature = nn.Linear(d + views, d // 2), nn.Linear(d, d)
        self.alpha, self.rgb = nn.Linear(d, 1), nn.Linear(d // 2, 3)

    def forward(self, points, views):
        x = points
        for nr, layer in enumerate(self.pts_linears):
            if nr == 4:
                x = torch.cat([points, x], -1)
            x = F.relu(layer(x))
        y = F.relu(self.views_linear(torch.cat([self.feature(x), views], -1)))
        return torch.cat([self.rgb(y), self.alpha(x)], -1)


def composite(raw, depths):
    gaps = torch.cat([depths.diff(dim=1), torch.full_like(depths[:, :1], 1e10)], 1)
    alpha = 1 - torch.exp(-F.relu(raw[..., 3]) * gaps)
    through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * through
    return (weights[..., None] * raw[..., :3].sigmoid()).sum(1), weights


def sample_pdf(depths, weights, nr):
    cdf = torch.cumsum(weights + 1e-5, 1)
    u = torch.rand(len(depths), nr, device=depths.device)
    places = torch.searchsorted(cdf / cdf[:, -1:], u).clamp(max=depths.shape[1] - 1)
    return torch.sort(torch.cat([depths, depths.gather(1, places)], 1), 1)[0]


@case(family="radiance fields", mode="coarse and fine network, samples by their weights, rendered in chunks",
      roles={"*": "mlp", ":NeRF": "mlp"}, functions={"encode": "embedding"}, steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"))
def renders():
    device = torch.device("cuda")
    coarse, fine = NeRF().to(device), NeRF().to(device)
    optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-4, betas=(0.9, 0.999))

    def query(net, origins, directions, depths):
        points = origins[:, None] + directions[:, None] * depths[..., None]
        views = F.normalize(directions, dim=-1)[:, None].expand(points.shape)
        return net(encode(points.reshape(-1, 3), 10), encode(views.reshape(-1, 3), 4)).view(*depths.shape, 4)

    def render(rays, near=2.0, far=6.0):
        origins, directions = rays.split(3, -1)
        depths = torch.linspace(near, far, 48, device=device).expand(len(rays), -1)
        depths = depths + torch.rand_like(depths) * (far - near) / 48
        rough, weights = composite(query(coarse, origins, directions, depths), depths)
        depths = sample_pdf(depths, weights.detach(), 64)
        return rough, composite(query(fine, origins, directions, depths), depths)[0]

    for step in range(4):
        rays, colours = torch.randn(256, 6).to(device), torch.rand(256, 3).to(device)
        rough, colour = render(rays)
        loss = F.mse_loss(rough, colours) + F.mse_loss(colour, colours)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = 5e-4 * 0.1 ** (step / 1000)
    with torch.no_grad():
        rays = torch.randn(1024, 6).to(device)
        picture = torch.cat([render(rays[nr:nr + 256])[1] for nr in range(0, 1024, 256)])
        print(picture.cpu().shape)


class Part(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj, self.fc1, self.fc2 = (nn.Linear(a, b) for a, b in (
            (d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)))

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.fc2(F.gelu(self.fc1(self.n2(x))))


class MaskedAutoencoder(nn.Module):
    """Sees a quarter of the patches and paints all; the painter's layers are recomputed."""

    def __init__(self, d=256, e=128, patches=144):
        super().__init__()
        self.cut, self.kept = nn.Conv2d(3, d, 8, 8), patches // 4
        self.pos, self.pos2 = nn.Parameter(torch.zeros(1, patches, d)), nn.Parameter(torch.zeros(1, patches, e))
        self.mask = nn.Parameter(torch.zeros(1, 1, e))
        self.encoder = nn.Sequential(*(Part(d, 8) for _ in range(2)), nn.LayerNorm(d))
        self.across, self.paint = nn.Linear(d, e), nn.Linear(e, 192)
        self.decoder, self.last = nn.ModuleList(Part(e, 4) for _ in range(1)), nn.LayerNorm(e)

    def forward(self, images):
        x = self.cut(images).flatten(2).mT + self.pos
        order = torch.rand(x.shape[:2], device=x.device).argsort(1)
        back, seen = order.argsort(1), order[:, :self.kept, None]
        x = self.across(self.encoder(x.gather(1, seen.expand(-1, -1, x.shape[2]))))
        x = torch.cat([x, self.mask.expand(len(x), order.shape[1] - self.kept, -1)], 1)
        x = x.gather(1, back[..., None].expand(-1, -1, x.shape[2])) + self.pos2
        for part in self.decoder:
            x = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
        aims = F.unfold(images, 8, stride=8).mT
        errors = (self.paint(self.last(x)) - aims).square().mean(-1)
        hidden = (back >= self.kept).float()
        return (errors * hidden).sum() / hidden.sum()


def reckon(call, images):
    return call(images)


# Of 60 pictures, because of 64 the indices have as many bytes as a cast (the option `casts`).
@case(family="torch.compile", mode="masked autoencoder, autocast bf16, painter recomputed, two micro-batches",
      hooks=False, casts=True, functions={"reckon": "other", "autotune_to_one_config": "workspace/other"}, steps=4,
      micro_batches=2, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def compiled_masks():
    model = MaskedAutoencoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.95), weight_decay=0.05)
    watch(model, optimizer)
    call = torch.compile(model, fullgraph=True)
    for _ in range(4):
        for _ in range(2):
            images = torch.rand(60, 3, 96, 96).cuda()
            stage("batch", inputs="images")
            with torch.autocast("cuda", torch.bfloat16):
                loss = reckon(call, images) / 2
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
