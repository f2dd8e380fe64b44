# SPDX-License-Identifier: MIT
"""The rest of the ten of ten_unseen.py, with loops of their own: flows, proteins, plans, clouds, shocks."""
import copy
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from parallel import SHARDED, join
from program import case, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ActNorm(nn.Module):
    """Scaled such that the first batch has a mean of zero and a variance of one."""

    def __init__(self, channels):
        super().__init__()
        self.loc, self.scale = (nn.Parameter(make(1, channels, 1, 1)) for make in (torch.zeros, torch.ones))
        self.initialized = False

    @torch.no_grad()
    def initialize(self, x):
        mean, std = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
        self.loc.copy_(-mean)
        self.scale.copy_(1 / (std + 1e-6))
        self.initialized = True

    def forward(self, x):
        if not self.initialized:
            self.initialize(x)
        logdet = x.shape[2] * x.shape[3] * self.scale.abs().log().sum()
        return self.scale * (x + self.loc), logdet

    def reverse(self, y):
        return y / self.scale - self.loc


class InvConv2dLU(nn.Module):
    """A convolution of one by one, whose matrix is kept as product of triangles."""

    def __init__(self, channels):
        super().__init__()
        p, lower, upper = torch.linalg.lu(torch.linalg.qr(torch.randn(channels, channels))[0])
        diagonal = upper.diagonal()
        self.register_buffer("w_p", p)
        self.register_buffer("u_mask", torch.ones_like(upper).triu(1))
        self.register_buffer("l_mask", torch.ones_like(lower).tril(-1))
        self.register_buffer("s_sign", diagonal.sign())
        self.register_buffer("l_eye", torch.eye(channels))
        self.w_l, self.w_u, self.w_s = nn.Parameter(lower), nn.Parameter(upper), nn.Parameter(diagonal.abs().log())

    def calc_weight(self):
        lower = self.w_l * self.l_mask + self.l_eye
        upper = self.w_u * self.u_mask + torch.diag(self.s_sign * self.w_s.exp())
        return self.w_p @ lower @ upper

    def forward(self, x):
        return F.conv2d(x, self.calc_weight()[:, :, None, None]), x.shape[2] * x.shape[3] * self.w_s.sum()

    def reverse(self, y):
        return F.conv2d(y, self.calc_weight().mT[:, :, None, None])  # its start is orthogonal


class ZeroConv2d(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        nn.init.zeros_(self.conv.weight)
        nn.init.zeros_(self.conv.bias)
        self.scale = nn.Parameter(torch.zeros(1, out_channels, 1, 1))

    def forward(self, x):
        return self.conv(x) * torch.exp(self.scale * 3)


class AffineCoupling(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(channels // 2, filters, 3, padding=1), nn.ReLU(inplace=True),
                                 nn.Conv2d(filters, filters, 1), nn.ReLU(inplace=True), ZeroConv2d(filters, channels))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        return torch.cat([a, (b + t) * s], 1), s.log().flatten(1).sum(1)

    def reverse(self, y):
        a, b = y.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        return torch.cat([a, b / torch.sigmoid(log_s + 2) - t], 1)


class Flow(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.actnorm, self.invconv = ActNorm(channels), InvConv2dLU(channels)
        self.coupling = AffineCoupling(channels, filters)

    def forward(self, x):
        logdet = 0.0
        for part in (self.actnorm, self.invconv, self.coupling):
            x, more = part(x)
            logdet = logdet + more
        return x, logdet

    def reverse(self, y):
        return self.actnorm.reverse(self.invconv.reverse(self.coupling.reverse(y)))


class Level(nn.Module):
    """Halves sides, flows, and gives half of the channels to the prior."""

    def __init__(self, channels, n_flow, filters):
        super().__init__()
        self.flows = nn.ModuleList(Flow(4 * channels, filters) for _ in range(n_flow))
        self.prior = ZeroConv2d(2 * channels, 4 * channels)

    def forward(self, x):
        x, logdet = F.pixel_unshuffle(x, 2), 0.0
        for flow in self.flows:
            x, more = flow(x)
            logdet = logdet + more
        x, z = x.chunk(2, 1)
        mean, log_sd = self.prior(x).chunk(2, 1)
        log_p = -0.5 * math.log(2 * math.pi) - log_sd - 0.5 * (z - mean) ** 2 / torch.exp(2 * log_sd)
        return x, logdet, log_p.flatten(1).sum(1)

    def reverse(self, x):
        mean, log_sd = self.prior(x).chunk(2, 1)
        x = torch.cat([x, mean + 0.7 * torch.exp(log_sd) * torch.randn_like(mean)], 1)
        for flow in reversed(self.flows):
            x = flow.reverse(x)
        return F.pixel_shuffle(x, 2)


class Glow(nn.Module):
    def __init__(self, channels=3, n_flow=4, n_level=3, filters=320):
        super().__init__()
        self.levels = nn.ModuleList(Level(channels * 2 ** nr, n_flow, filters) for nr in range(n_level))

    def forward(self, x):
        log_p_sum, logdet_sum = 0.0, 0.0
        for level in self.levels:
            x, logdet, log_p = level(x)
            logdet_sum, log_p_sum = logdet_sum + logdet, log_p_sum + log_p
        last = -0.5 * (x ** 2 + math.log(2 * math.pi))
        return log_p_sum + last.flatten(1).sum(1), logdet_sum

    def reverse(self, z):
        for level in reversed(self.levels):
            z = level.reverse(z)
        return z


# Halves that are moved and scaled, and logarithms of densities, are of no kind.
@case(family="normalizing flow by hand", mode="Glow, fp32, Adamax, clipped, samples by the inverse after each epoch",
      roles={":ActNorm": "norm", ":InvConv2dLU": "conv", ":ZeroConv2d": "conv", "*.prior.conv": "conv",
             "*coupling.net": "conv", "*coupling.net.*": "conv", ":AffineCoupling": "other", ":Flow": "other",
             ":Level": "other", ":Glow": "other"},
      functions={"ActNorm.reverse": "norm", "InvConv2dLU.reverse": "conv", "AffineCoupling.reverse": "other",
                 "Level.reverse": "other"},
      steps=4, stages=("forward", "backward", "optimizer", "evaluation"))
def invertible():
    device, n_bits = torch.device("cuda"), 5
    model = Glow().to(device)
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3, weight_decay=5e-5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda nr: min(1.0, (nr + 1) / 100))
    loader = DataLoader(TensorDataset(torch.rand(64, 3, 32, 32)), 32, shuffle=True)

    def bits_per_dim(log_p, logdet, nr_pixels=3 * 32 * 32):
        return (-(logdet + log_p - math.log(2 ** n_bits) * nr_pixels) / (math.log(2) * nr_pixels)).mean()

    for _ in range(2):
        model.train()
        for image, in loader:
            image = torch.floor(image * 255 / 2 ** (8 - n_bits)) / 2 ** n_bits - 0.5
            image = image.to(device)
            noisy = image + torch.rand_like(image) / 2 ** n_bits
            stage("dequantized", inputs="noisy")
            loss = bits_per_dim(*model(noisy))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 5.0)
            nn.utils.clip_grad_norm_(model.parameters(), 100.0)
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            losses = [bits_per_dim(*model(image.to(device))) for image, in loader]
            sampled = model.reverse(0.7 * torch.randn(8, 24, 4, 4, device=device))
        print(torch.stack(losses).mean().shape, sampled.clamp(-0.5, 0.5).cpu().shape)


class GatedAttention(nn.Module):
    """Over the last but one dimension; the pairs add to scores, and what is found is gated."""

    def __init__(self, dim, heads, c_bias=None, c_hidden=32):
        super().__init__()
        self.heads, inner = heads, heads * c_hidden
        self.norm = nn.LayerNorm(dim)
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, inner, bias=False) for _ in range(3))
        self.gate, self.to_out = nn.Linear(dim, inner), nn.Linear(inner, dim)
        if c_bias:
            self.bias_norm, self.to_bias = nn.LayerNorm(c_bias), nn.Linear(c_bias, heads, bias=False)

    def forward(self, x, pairs=None):
        x = self.norm(x)
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(-2, -3) for f in (self.to_q, self.to_k, self.to_v))
        scores = (q * q.shape[-1] ** -0.5) @ k.mT
        if pairs is not None:
            scores = scores + self.to_bias(self.bias_norm(pairs)).movedim(-1, -3)
        out = (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2)
        return self.to_out(torch.sigmoid(self.gate(x)) * out)


class Transition(nn.Module):
    def __init__(self, dim, n=4):
        super().__init__()
        self.norm, self.linear_1, self.linear_2 = nn.LayerNorm(dim), nn.Linear(dim, n * dim), nn.Linear(n * dim, dim)

    def forward(self, x):
        return self.linear_2(F.relu(self.linear_1(self.norm(x))))


class OuterProductMean(nn.Module):
    def __init__(self, c_m, c_z, c_hidden=16):
        super().__init__()
        self.norm, self.left, self.right = nn.LayerNorm(c_m), nn.Linear(c_m, c_hidden), nn.Linear(c_m, c_hidden)
        self.out = nn.Linear(c_hidden ** 2, c_z)

    def forward(self, m):
        m = self.norm(m)
        outer = torch.einsum("bsic,bsjd->bijcd", self.left(m), self.right(m)) / m.shape[1]
        return self.out(outer.flatten(-2))


class TriangleMultiplication(nn.Module):
    def __init__(self, c_z, outgoing):
        super().__init__()
        self.equation = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
        self.norm_in, self.norm_out = nn.LayerNorm(c_z), nn.LayerNorm(c_z)
        self.a_p, self.a_g, self.b_p, self.b_g, self.g, self.z = (nn.Linear(c_z, c_z) for _ in range(6))

    def forward(self, z):
        z = self.norm_in(z)
        a = torch.sigmoid(self.a_g(z)) * self.a_p(z)
        b = torch.sigmoid(self.b_g(z)) * self.b_p(z)
        x = torch.einsum(self.equation, a, b)
        return torch.sigmoid(self.g(z)) * self.z(self.norm_out(x))


class EvoformerBlock(nn.Module):
    def __init__(self, c_m, c_z, heads=4):
        super().__init__()
        self.row_attn, self.col_attn = GatedAttention(c_m, heads, c_z), GatedAttention(c_m, heads)
        self.msa_transition, self.pair_transition = Transition(c_m), Transition(c_z)
        self.outer_product = OuterProductMean(c_m, c_z)
        self.tri_mul_out, self.tri_mul_in = TriangleMultiplication(c_z, True), TriangleMultiplication(c_z, False)
        self.tri_attn_start, self.tri_attn_end = GatedAttention(c_z, heads, c_z), GatedAttention(c_z, heads, c_z)

    def forward(self, m, z):
        m = m + self.row_attn(m, z[:, None])
        m = m + self.col_attn(m.transpose(1, 2)).transpose(1, 2)
        m = m + self.msa_transition(m)
        z = z + self.outer_product(m)
        z = z + self.tri_mul_out(z)
        z = z + self.tri_mul_in(z)
        z = z + self.tri_attn_start(z, z[:, None])
        z = z.transpose(1, 2)
        z = (z + self.tri_attn_end(z, z[:, None])).transpose(1, 2)
        return m, z + self.pair_transition(z)


class InputEmbedder(nn.Module):
    """Of each word its place relative to each other one."""

    def __init__(self, c_m, c_z, n_aa=23, relpos_k=32):
        super().__init__()
        self.k, self.msa = relpos_k, nn.Embedding(n_aa, c_m)
        self.left, self.right, self.relpos = nn.Embedding(n_aa, c_z), nn.Embedding(n_aa, c_z), nn.Embedding(
            2 * relpos_k + 1, c_z)

    def forward(self, msa):
        target, place = msa[:, 0], torch.arange(msa.shape[-1], device=msa.device)
        apart = (place[:, None] - place).clamp(-self.k, self.k) + self.k
        return self.msa(msa), self.left(target)[:, :, None] + self.right(target)[:, None] + self.relpos(apart)


class Folder(nn.Module):
    def __init__(self, c_m=128, c_z=96, depth=3, n_aa=23, n_bins=64):
        super().__init__()
        self.embedder = InputEmbedder(c_m, c_z)
        self.blocks = nn.ModuleList(EvoformerBlock(c_m, c_z) for _ in range(depth))
        self.masked_msa, self.distogram = nn.Linear(c_m, n_aa), nn.Linear(c_z, n_bins)

    def forward(self, msa):
        m, z = self.embedder(msa)
        for block in self.blocks:
            m, z = block(m, z)
        pairs = self.distogram(z)
        return self.masked_msa(m), pairs + pairs.transpose(1, 2)


# Products of pairs with pairs, along the chain, mix what attention does not; sums are a block's own.
@case(family="FSDP2", mode="Evoformer of two ranks, bf16 parameters, gradients in fp32, clipped",
      roles={":LayerNorm": "norm", ":GatedAttention": "attention", "*_attn*.*": "attention", ":Transition": "mlp",
             "*_transition.linear_?": "mlp", ":TriangleMultiplication": "mixer", "*tri_mul_*.?": "mixer",
             "*tri_mul_*.?_?": "mixer", ":OuterProductMean": "mixer", "*outer_product.*": "mixer",
             "*norm*": "norm", ":EvoformerBlock": "residual", ":FSDPEvoformerBlock": "residual",
             ":InputEmbedder": "embedding", "embedder.*": "embedding", ":Folder": "logits", ":FSDPFolder": "logits"},
      heads=["masked_msa", "distogram"], functions=SHARDED, steps=4, stages=("forward", "backward", "optimizer"),
      ranks=2, device="h100-80g,count=2")
def folds():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    join("nccl")
    model = Folder().cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-6)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=1000)
    for _ in range(4):
        msa, bins = torch.randint(0, 20, (1, 40, 96)), torch.randint(0, 64, (1, 96, 96))
        masked = torch.rand(msa.shape) < 0.15
        wanted = msa.masked_fill(~masked, -100).cuda(non_blocking=True)
        msa, bins = msa.masked_fill(masked, 22).cuda(non_blocking=True), bins.cuda(non_blocking=True)
        words, pairs = model(msa)
        loss = 2.0 * F.cross_entropy(words.flatten(0, 2), wanted.flatten(), ignore_index=-100)
        loss = loss + 0.3 * F.cross_entropy(pairs.flatten(0, 2), bins.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        warm.step()
    dist.destroy_process_group()


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = torch.exp(torch.arange(half, device=x.device) * -(math.log(10000) / (half - 1)))
        emb = x[:, None] * emb[None]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Conv1dBlock(nn.Module):
    def __init__(self, inp_channels, out_channels, kernel_size, n_groups=8):
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(inp_channels, out_channels, kernel_size, padding=kernel_size // 2),
                                   nn.GroupNorm(n_groups, out_channels), nn.Mish())

    def forward(self, x):
        return self.block(x)


class ConditionalResidualBlock1D(nn.Module):
    def __init__(self, in_channels, out_channels, cond_dim, kernel_size=5):
        super().__init__()
        self.blocks = nn.ModuleList([Conv1dBlock(in_channels, out_channels, kernel_size),
                                     Conv1dBlock(out_channels, out_channels, kernel_size)])
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond_dim, 2 * out_channels))
        self.residual_conv = nn.Conv1d(in_channels, out_channels, 1) if in_channels != out_channels else nn.Identity()

    def forward(self, x, cond):
        out = self.blocks[0](x)
        scale, bias = self.cond_encoder(cond)[:, :, None].chunk(2, dim=1)
        out = self.blocks[1](scale * out + bias)
        return out + self.residual_conv(x)


class ConditionalUnet1D(nn.Module):
    """Of a plan of actions with noise the noise, given what was seen."""

    def __init__(self, input_dim, global_cond_dim, step_embed_dim=128, down_dims=(256, 512)):
        super().__init__()
        dsed, cond = step_embed_dim, step_embed_dim + global_cond_dim
        self.step_encoder = nn.Sequential(SinusoidalPosEmb(dsed), nn.Linear(dsed, 4 * dsed), nn.Mish(),
                                          nn.Linear(4 * dsed, dsed))
        in_out = list(zip((input_dim, *down_dims), down_dims))
        self.mid = ConditionalResidualBlock1D(down_dims[-1], down_dims[-1], cond)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for nr, (i, o) in enumerate(in_out):
            shrink = nn.Conv1d(o, o, 3, 2, 1) if nr < len(in_out) - 1 else nn.Identity()
            self.down.append(nn.ModuleList([ConditionalResidualBlock1D(i, o, cond), shrink]))
        for i, o in reversed(in_out[1:]):
            self.up.append(nn.ModuleList([ConditionalResidualBlock1D(2 * o, i, cond),
                                          nn.ConvTranspose1d(i, i, 4, 2, 1)]))
        self.final_conv = nn.Sequential(Conv1dBlock(down_dims[0], down_dims[0], 5),
                                        nn.Conv1d(down_dims[0], input_dim, 1))

    def forward(self, sample, timestep, global_cond):
        x = sample.moveaxis(-1, -2)
        cond, skips = torch.cat([self.step_encoder(timestep), global_cond], dim=-1), []
        for block, shrink in self.down:
            x = block(x, cond)
            skips.append(x)
            x = shrink(x)
        x = self.mid(x, cond)
        for block, grow in self.up:
            x = grow(block(torch.cat((x, skips.pop()), dim=1), cond))
        return self.final_conv(x).moveaxis(-1, -2)


def predict_noise(net, noisy_actions, timesteps, obs_cond):
    return net(noisy_actions, timesteps, obs_cond)


def noise_loss(noise_pred, noise):
    return F.mse_loss(noise_pred.float(), noise)


# Of 462 plans: with factors of 7 and 11, no activation has as many bytes as a cast (the option `casts`).
@case(family="torch.compile", mode="diffusion policy, convolutions over a plan, autocast bf16, average of weights",
      hooks=False, casts=True, functions={"predict_noise": "other", "noise_loss": "other",
                                          "autotune_to_one_config": "workspace/other"},
      steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def plans_compiled():
    device, horizon, action_dim, obs_dim, obs_horizon = torch.device("cuda"), 32, 7, 20, 2
    noise_net = ConditionalUnet1D(action_dim, obs_dim * obs_horizon).to(device)
    ema_net = copy.deepcopy(noise_net).requires_grad_(False)
    optimizer = torch.optim.AdamW(noise_net.parameters(), lr=1e-4, betas=(0.95, 0.999), weight_decay=1e-6)
    watch(noise_net, ema_net, optimizer)
    alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100, device=device), 0)
    stage("schedule", user="alphas_cumprod")
    call = torch.compile(noise_net, options={"triton.autotune_pointwise": False, "shape_padding": False})
    demos = TensorDataset(torch.randn(1848, obs_horizon, obs_dim), torch.randn(1848, horizon, action_dim))
    for obs, action in DataLoader(demos, 462, shuffle=True):
        obs, action = obs.to(device), action.to(device)
        obs_cond = obs.flatten(start_dim=1)
        noise = torch.randn(action.shape, device=device)
        timesteps = torch.randint(0, 100, (len(action),), device=device)
        kept = alphas_cumprod[timesteps][:, None, None]
        noisy_actions = kept.sqrt() * action + (1 - kept).sqrt() * noise
        stage("noised", inputs="obs, action, noise, timesteps, kept, noisy_actions")
        with torch.autocast("cuda", torch.bfloat16):
            noise_pred = predict_noise(call, noisy_actions, timesteps, obs_cond)
        noise_loss(noise_pred, noise).backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            torch._foreach_lerp_(list(ema_net.parameters()), list(noise_net.parameters()), 0.25)


def knn(x, k):
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x ** 2, dim=1, keepdim=True)
    pairwise_distance = -xx - inner - xx.transpose(2, 1)
    return pairwise_distance.topk(k=k, dim=-1)[1]


def get_graph_feature(x, k=16):
    """Of each point and its nearest ones the difference."""
    batch_size, num_dims, num_points = x.shape
    idx = knn(x, k) + torch.arange(batch_size, device=x.device).view(-1, 1, 1) * num_points
    x = x.transpose(2, 1).contiguous()
    feature = x.view(batch_size * num_points, -1)[idx.view(-1)].view(batch_size, num_points, k, num_dims)
    x = x.view(batch_size, num_points, 1, num_dims).repeat(1, 1, k, 1)
    return torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()


class DGCNN(nn.Module):
    def __init__(self, k=16, emb_dims=512, output_channels=40, dropout=0.5):
        super().__init__()
        self.k, widths = k, (3, 64, 64, 128, 256)
        for nr, (i, o) in enumerate(zip(widths, widths[1:]), 1):
            setattr(self, f"conv{nr}", nn.Sequential(nn.Conv2d(2 * i, o, 1, bias=False), nn.BatchNorm2d(o),
                                                     nn.LeakyReLU(0.2)))
        self.conv5 = nn.Sequential(nn.Conv1d(sum(widths[1:]), emb_dims, 1, bias=False), nn.BatchNorm1d(emb_dims),
                                   nn.LeakyReLU(0.2))
        self.linear1, self.bn6, self.dp1 = nn.Linear(2 * emb_dims, 512, bias=False), nn.BatchNorm1d(512), nn.Dropout(
            dropout)
        self.linear2, self.bn7, self.dp2 = nn.Linear(512, 256), nn.BatchNorm1d(256), nn.Dropout(dropout)
        self.linear3 = nn.Linear(256, output_channels)

    def forward(self, x):
        features = []
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = conv(get_graph_feature(x, self.k)).max(dim=-1)[0]
            features.append(x)
        x = self.conv5(torch.cat(features, dim=1))
        x = torch.cat((F.adaptive_max_pool1d(x, 1).squeeze(-1), F.adaptive_avg_pool1d(x, 1).squeeze(-1)), 1)
        x = self.dp1(F.leaky_relu(self.bn6(self.linear1(x)), 0.2))
        x = self.dp2(F.leaky_relu(self.bn7(self.linear2(x)), 0.2))
        return self.linear3(x)


class SAM(torch.optim.Optimizer):
    """Gradients where the loss is worst nearby, steps from where the weights were."""

    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norms = [p.grad.norm(p=2) for group in self.param_groups for p in group["params"]]
        norm = torch.stack(norms).norm(p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()


# Neighbours are found and gathered by functions; their features are of no kind.
@case(family="point clouds by hand", mode="DGCNN, sharpness-aware SGD in two passes, tested each epoch",
      roles={":BatchNorm?d": "norm", "conv*": "conv", "linear*": "mlp", "dp?": "mlp", ":DGCNN": "other"},
      functions={"get_graph_feature": "other", "knn": "other"}, heads=["linear3"], steps=4, micro_batches=1,
      stages=("forward", "backward", "optimizer", "evaluation"))
def clouds():
    device = torch.device("cuda")
    model = DGCNN().to(device)
    opt = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=1e-4)
    watch(opt)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt.base_optimizer, 250, eta_min=1e-3)
    train = TensorDataset(torch.randn(16, 3, 512), torch.randint(0, 40, (16,)))
    test = TensorDataset(torch.randn(16, 3, 512), torch.randint(0, 40, (16,)))
    for _ in range(2):
        model.train()
        for data, label in DataLoader(train, 8, shuffle=True, drop_last=True):
            data, label = data.to(device), label.to(device)
            loss = F.cross_entropy(model(data), label, label_smoothing=0.2)
            loss.backward()
            opt.first_step()
            F.cross_entropy(model(data), label, label_smoothing=0.2).backward()
            opt.second_step()
        scheduler.step()
        model.eval()
        test_pred = []
        with torch.no_grad():
            for data, _ in DataLoader(test, 8):
                test_pred.append(model(data.to(device)).max(dim=1)[1].cpu())
        print(torch.cat(test_pred).shape)


class FourierFeatures(nn.Module):
    def __init__(self, dim, size, sigma=2.0):
        super().__init__()
        self.register_buffer("B", sigma * torch.randn(dim, size))

    def forward(self, x):
        angles = 2 * math.pi * x @ self.B
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ModifiedMLP(nn.Module):
    """Two encoders of the input are blended by each layer."""

    def __init__(self, width=192, depth=4, features=96):
        super().__init__()
        self.embed = FourierFeatures(2, features)
        self.encode_u, self.encode_v = nn.Linear(2 * features, width), nn.Linear(2 * features, width)
        self.layers = nn.ModuleList(nn.Linear(2 * features if nr == 0 else width, width) for nr in range(depth))
        self.out, self.act = nn.Linear(width, 1), nn.Tanh()

    def forward(self, t, x):
        h = self.embed(torch.cat([t, x], dim=-1))
        u, v = self.act(self.encode_u(h)), self.act(self.encode_v(h))
        for layer in self.layers:
            z = self.act(layer(h))
            h = (1 - z) * u + z * v
        return self.out(h)


def burgers_residual(net, t, x, nu=0.01 / math.pi):
    u = net(t, x)
    ones = torch.ones_like(u)
    u_t, u_x = torch.autograd.grad(u, (t, x), ones, create_graph=True)
    u_xx, = torch.autograd.grad(u_x, x, ones, create_graph=True)
    return u_t + u * u_x - nu * u_xx


@case(family="physics-informed by hand", mode="Burgers' equation, second derivatives, weights of points raised by hand",
      roles={":FourierFeatures": "embedding", ":ModifiedMLP": "mlp", "encode_?": "mlp", "layers.*": "mlp",
             "act": "mlp", "out": "mlp"},
      steps=4, stages=("forward", "backward", "optimizer", "evaluation"))
def shocks():
    device, n_f, n_b = torch.device("cuda"), 6000, 400
    net = ModifiedMLP().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99))
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    sharp = torch.ones(n_f, 1, device=device, requires_grad=True)
    x0 = 2 * torch.rand(n_b, 1, device=device) - 1
    t0, u0 = torch.zeros_like(x0), -torch.sin(math.pi * x0)
    tb, xb = torch.rand(n_b, 1, device=device), torch.ones(n_b, 1, device=device)
    stage("conditions", inputs="x0, t0, u0, tb, xb", weights="sharp")
    grid_t, grid_x = torch.meshgrid(torch.linspace(0, 1, 100), torch.linspace(-1, 1, 256), indexing="ij")
    for epoch in range(2):
        for _ in range(2):
            t = torch.rand(n_f, 1, device=device).requires_grad_()
            x = (2 * torch.rand(n_f, 1, device=device) - 1).requires_grad_()
            stage("points", inputs="t, x")
            residual = burgers_residual(net, t, x)
            loss = (sharp * residual).square().mean() + 20 * F.mse_loss(net(t0, x0), u0)
            loss = loss + net(tb, xb).square().mean() + net(tb, -xb).square().mean()
            optimizer.zero_grad()
            sharp.grad = None
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                sharp += 5e-3 * sharp.grad
        decay.step()
        with torch.no_grad():
            found = net(grid_t.reshape(-1, 1).to(device), grid_x.reshape(-1, 1).to(device))
            print(epoch, found.view(100, 256).cpu().shape)


if __name__ == "__main__":
    main()
