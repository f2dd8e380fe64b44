# SPDX-License-Identifier: MIT
"""Images: convolutions by hand, models of timm, U-Nets of diffusers, networks that play against each other."""
import copy

import torch
import torch.nn.functional as F
from stage import case, head, main, stage, watch
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 32, 64, 128]
        self.conv = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in zip(widths, widths[1:]))
        self.bn = nn.ModuleList(nn.BatchNorm2d(b) for b in widths[1:])
        self.fc = nn.Linear(128, 100)

    def forward(self, x):
        for conv, bn in zip(self.conv, self.bn):
            x = F.max_pool2d(F.relu(bn(conv(x))), 2)
        return self.fc(x.mean((2, 3)))


def classify(model, batch_of, optimizer, steps=3, dtype=None, scaler=None):
    watch(model, optimizer)
    stage("loaded")
    for step in range(steps):
        x, y = batch_of()
        with torch.autocast("cuda", dtype or torch.float16, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), y)
        stage(f"forward-{step}", inputs="x, y")
        (scaler.scale(loss) if scaler else loss).backward()
        stage(f"backward-{step}", inputs="x, y")
        scaler.step(optimizer) if scaler else optimizer.step()
        if scaler:
            scaler.update()
        stage(f"step-{step}", inputs="x, y")
        optimizer.zero_grad()


def pictures(rows=32, size=64, classes=100):
    return lambda: (torch.randn(rows, 3, size, size).to("cuda"), torch.randint(0, classes, (rows,)).to("cuda"))


@case(family="CNN by hand", mode="fp32, SGD, loader with pinned memory", heads=["fc"])
def cnn():
    data = torch.utils.data.TensorDataset(torch.randn(128, 3, 96, 96), torch.randint(0, 100, (128,)))
    loader = torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True)
    model = Layers().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    watch(model, optimizer)
    for step, (x, y) in enumerate(loader):
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        loss = F.cross_entropy(model(x), y)
        stage(f"forward-{step}", inputs="x, y")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stage(f"step-{step}", inputs="x, y")


@case(family="CNN by hand", mode="autocast fp16, scaler, channels last", heads=["fc"])
def cnn_autocast():
    model = Layers().to("cuda", memory_format=torch.channels_last)

    def batch():
        x = torch.randn(32, 3, 96, 96, device="cuda").contiguous(memory_format=torch.channels_last)
        return x, torch.randint(0, 100, (32,), device="cuda")

    classify(model, batch, torch.optim.Adam(model.parameters()), dtype=torch.float16,
             scaler=torch.amp.GradScaler("cuda"))


@case(family="timm, residual CNN", mode="fp32, SGD", heads=["fc"], needs=["timm"])
def timm_resnet():
    import timm
    model = timm.create_model("resnet18", num_classes=100).to("cuda")
    classify(model, pictures(16, 128), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True))


@case(family="timm, vision encoder", mode="autocast bf16, checkpointing", heads=["head"], needs=["timm"],
      roles={"*.attn": "attention", "*.mlp": "mlp", "patch_embed": "embedding", "*norm*": "norm"})
def timm_vit():
    import timm
    model = timm.create_model("vit_tiny_patch16_224", num_classes=100).to("cuda")
    model.set_grad_checkpointing(True)
    classify(model, pictures(16, 224), torch.optim.AdamW(model.parameters()), dtype=torch.bfloat16)


@case(family="timm, hierarchical", mode="bf16", heads=["head.fc"], needs=["timm"],
      functions={"window_partition": "attention", "window_reverse": "attention"},
      roles={"*.attn": "attention", "*.mlp": "mlp", "patch_embed": "embedding", "*norm*": "norm",
             "*.downsample": "other"})
def timm_swin():
    import timm
    model = timm.create_model("swin_tiny_patch4_window7_224", num_classes=100, depths=(2, 2, 2, 2))
    model = model.to("cuda").bfloat16()

    def batch():
        return (torch.randn(8, 3, 224, 224).to("cuda", torch.bfloat16), torch.randint(0, 100, (8,)).to("cuda"))

    classify(model, batch, torch.optim.AdamW(model.parameters()))


def denoise(model, batch_of, call, steps=3, ema=None):
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    watch(model, optimizer, *([ema] if ema else []))
    stage("loaded")
    for step in range(steps):
        x, *more = batch_of()
        noise = torch.randn_like(x)
        noisy = 0.7 * x + 0.7 * noise
        made = call(model, noisy, *more)
        loss = F.mse_loss(made.float(), noise.float())
        stage(f"forward-{step}", inputs="x, more, noise, noisy", activations="made")
        loss.backward()
        stage(f"backward-{step}", inputs="x, more, noise, noisy", activations="made")
        optimizer.step()
        optimizer.zero_grad()
        if ema:
            with torch.no_grad():
                for a, b in zip(ema.parameters(), model.parameters()):
                    a.lerp_(b, 0.01)
        stage(f"step-{step}", inputs="x, more, noise, noisy", activations="made")


@case(family="diffusion, U-Net", mode="fp32, EMA by deep copy", needs=["diffusers"],
      roles={"*.attentions.*": "attention", "*norm*": "norm"})
def diffusers_unet():
    from diffusers import UNet2DModel
    model = UNet2DModel(sample_size=32, block_out_channels=(64, 128), layers_per_block=1, norm_num_groups=8,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=32).to("cuda")
    ema = copy.deepcopy(model).requires_grad_(False)
    denoise(model, lambda: (torch.randn(8, 3, 32, 32).to("cuda"), torch.randint(0, 1000, (8,)).to("cuda")),
            lambda m, x, t: m(x, t).sample, ema=ema)


@case(family="diffusion, conditioned U-Net", mode="bf16, checkpointing", needs=["diffusers"],
      roles={"*.attn?": "attention", "*.ff": "mlp", "*norm*": "norm"})
def diffusers_conditioned():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(sample_size=32, in_channels=4, out_channels=4, block_out_channels=(64, 128),
                                 layers_per_block=1, cross_attention_dim=128, norm_num_groups=8,
                                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=8)
    model = model.to("cuda", torch.bfloat16)
    model.enable_gradient_checkpointing()
    denoise(model, lambda: (torch.randn(8, 4, 32, 32).to("cuda", torch.bfloat16),
                            torch.randint(0, 1000, (8,)).to("cuda"),
                            torch.randn(8, 77, 128).to("cuda", torch.bfloat16)),
            lambda m, x, t, c: m(x, t, c).sample)


@case(family="diffusion, transformer", mode="autocast bf16", needs=["diffusers"],
      roles={"*.attn?": "attention", "*.ff": "mlp", "*norm*": "norm", "pos_embed": "embedding"})
def diffusers_dit():
    from diffusers import DiTTransformer2DModel
    model = DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, in_channels=4, out_channels=4,
                                  num_layers=3, sample_size=32, patch_size=2, num_embeds_ada_norm=1000).to("cuda")

    def call(m, x, t, y):
        with torch.autocast("cuda", torch.bfloat16):
            return m(x, timestep=t, class_labels=y).sample

    denoise(model, lambda: (torch.randn(16, 4, 32, 32).to("cuda"), torch.randint(0, 1000, (16,)).to("cuda"),
                            torch.randint(0, 1000, (16,)).to("cuda")), call)


@case(family="GAN", mode="fp32, two optimizers", heads=["8"])
def gan():
    maker = nn.Sequential(nn.Linear(128, 128 * 64), nn.Unflatten(1, (128, 8, 8)), nn.ConvTranspose2d(128, 64, 4, 2, 1),
                          nn.BatchNorm2d(64), nn.ReLU(True), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).cuda()
    judge = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1),
                          nn.InstanceNorm2d(128), nn.LeakyReLU(0.2), nn.Conv2d(128, 128, 3, 1, 1), nn.LeakyReLU(0.2),
                          nn.Flatten(), nn.Linear(128 * 64, 1)).cuda()
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    watch(maker, judge, first, second)
    loss_of = nn.BCEWithLogitsLoss()
    for step in range(3):
        real, z = torch.randn(128, 3, 32, 32).to("cuda"), torch.randn(128, 128, device="cuda")
        fake = maker(z)
        yes, no = judge(real), judge(fake.detach())
        loss = loss_of(yes, torch.ones_like(yes)) + loss_of(no, torch.zeros_like(no))
        stage(f"judged-{step}", inputs="real, z")
        second.zero_grad()
        loss.backward()
        second.step()
        tried = judge(fake)
        loss = loss_of(tried, torch.ones_like(tried))
        first.zero_grad()
        stage(f"fooled-{step}", inputs="real, z")
        loss.backward()
        first.step()
        stage(f"step-{step}", inputs="real, z")


class Contrast(nn.Module):
    """Two encoders, one of them a slow copy, and a queue of what it saw."""

    def __init__(self):
        super().__init__()
        self.query = Layers()
        self.slow = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", torch.randn(100, 65536))

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            k = F.normalize(self.slow(b), dim=1)
        product = head(q @ self.queue.clone().detach())
        return head(torch.cat([(q * k).sum(1, keepdim=True), product], 1) / 0.07)


@case(family="contrastive, queue", mode="fp32")
def contrast():
    model = Contrast().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    watch(model, optimizer)
    for step in range(3):
        a, b = torch.randn(64, 3, 64, 64, device="cuda"), torch.randn(64, 3, 64, 64, device="cuda")
        scores = model(a, b)
        zeros = torch.zeros(len(a), dtype=torch.long, device="cuda")
        loss = F.cross_entropy(scores, zeros)
        stage(f"forward-{step}", inputs="a, b, zeros", logits="scores")
        loss.backward()
        stage(f"backward-{step}", inputs="a, b, zeros", logits="scores")
        optimizer.step()
        optimizer.zero_grad()


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, scale):
        q = torch.round(w / scale)
        ctx.save_for_backward(q)
        return torch.clamp(q, -127, 127) * scale

    @staticmethod
    def backward(ctx, grad):
        q, = ctx.saved_tensors
        return grad * (q.abs() <= 127), None


class FakeQuant(nn.Module):
    """Of activations: a moving range in buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.zeros(1))
        self.register_buffer("high", torch.ones(1))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.low.lerp_(x.min().view(1), 0.01)
                self.high.lerp_(x.max().view(1), 0.01)
        scale = ((self.high - self.low) / 255).clamp_min(1e-8)
        point = (-self.low / scale).round().clamp(0, 255).int()
        return torch.fake_quantize_per_tensor_affine(x, scale, point, 0, 255)


class QConv(nn.Conv2d):
    def forward(self, x):
        scale = self.weight.detach().abs().amax(dim=(1, 2, 3), keepdim=True).clamp_min(1e-8) / 127
        return self._conv_forward(x, Rounded.apply(self.weight, scale), self.bias)


class RoundedUnit(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv, self.bn, self.quant = QConv(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), FakeQuant()

    def forward(self, x):
        return self.quant(F.relu6(self.bn(self.conv(x))))


@case(family="CNN by hand", mode="fp32, weights and activations rounded in training", heads=["8"],
      roles={":QConv": "conv", ":RoundedUnit": "conv"})
def quantised_training():
    net = nn.Sequential(FakeQuant(), RoundedUnit(3, 32, 1), RoundedUnit(32, 64, 2), RoundedUnit(64, 64, 1),
                        RoundedUnit(64, 128, 2), RoundedUnit(128, 128, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(128, 100)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    watch(net, optimizer)
    for n in range(3):
        x, y = torch.rand(16, 3, 96, 96).cuda(), torch.randint(0, 100, (16,)).cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        stage(f"forward-{n}", inputs="x, y")
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
