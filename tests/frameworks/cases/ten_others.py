# SPDX-License-Identifier: MIT
"""Ten programs more (with ten_others_loops.py): trainers of libraries, timm, a codec for audio, clips of video."""
import torch
import torch.nn.functional as F
from program import case, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import arguments, sentence, tokenizer

V = 8000
# Projections have modules of their own; what a layer of a decoder makes itself is its two sums.
QWEN = {"*norm": "norm", ":Qwen3*Attention": "attention", "*.self_attn.*": "attention", "*rotary_emb": "attention",
        "*.mlp": "mlp", "*.mlp.*": "mlp", ":Qwen3*DecoderLayer": "residual"}


@case(family="trl", mode="ORPO with LoRA on Qwen3, bf16, two micro-batches", roles=QWEN, heads=["*lm_head"], steps=3,
      functions={"_LogProbEntropyFunction.forward": "logits", "_LogProbEntropyFunction.backward": "logits"},
      micro_batches=2, stages=("forward", "backward", "optimizer"), needs=["trl", "peft", "datasets", "triton"])
def odds_ratios():
    from datasets import Dataset as Table
    from peft import LoraConfig
    from transformers import Qwen3Config, Qwen3ForCausalLM
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer
    model = Qwen3ForCausalLM(Qwen3Config(
        vocab_size=V, hidden_size=384, num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=2, head_dim=64,
        intermediate_size=1152, max_position_embeddings=512))
    table = Table.from_dict({"prompt": [sentence(nr, 40) for nr in range(24)],
                             "chosen": [" " + sentence(nr + 30, 100) for nr in range(24)],
                             "rejected": [" " + sentence(nr + 60, 100) for nr in range(24)]})
    config = ORPOConfig(output_dir="out", max_steps=3, per_device_train_batch_size=3, gradient_accumulation_steps=2,
                        beta=0.1, max_length=160, report_to=[], save_strategy="no", disable_tqdm=True, bf16=True,
                        gradient_checkpointing=False, dataloader_pin_memory=False)
    ORPOTrainer(model, args=config, train_dataset=table, processing_class=tokenizer(),
                peft_config=LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear",
                                       task_type="CAUSAL_LM")).train()


class Tokens(Dataset):
    def __init__(self, nr, length=144):
        self.rows = torch.randint(3, V, (nr, length))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, nr):
        return {"input_ids": self.rows[nr], "attention_mask": torch.ones_like(self.rows[nr]), "labels": self.rows[nr]}


@case(family="transformers Trainer", mode="Qwen3-MoE, bf16, smoothed labels, fused AdamW, evaluated each epoch",
      roles=QWEN, heads=["lm_head"], steps=4, stages=("forward", "backward", "optimizer", "evaluation"))
def sparse_decoder():
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM, Trainer
    model = Qwen3MoeForCausalLM(Qwen3MoeConfig(
        vocab_size=V, hidden_size=320, num_hidden_layers=4, num_attention_heads=5, num_key_value_heads=1, head_dim=64,
        intermediate_size=960, moe_intermediate_size=384, num_experts=8, num_experts_per_tok=2, decoder_sparse_step=2,
        use_cache=False))
    Trainer(model, arguments(per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=2, bf16=True,
                             label_smoothing_factor=0.1, optim="adamw_torch_fused", lr_scheduler_type="cosine",
                             warmup_steps=2, eval_strategy="epoch"),
            train_dataset=Tokens(16), eval_dataset=Tokens(16)).train()


@case(family="timm", mode="LeViT, Mixup, LAMB, NativeScaler, average of weights, both validated",
      roles={":BatchNorm?d": "norm", ":Attention": "attention", ":AttentionDownsample": "attention",
             "*.attn.*": "attention", "*.attn_downsample.*": "attention", ":LevitMlp": "mlp",
             "*.mlp.*": "mlp", ":LevitBlock": "residual", ":LevitDownsample": "residual", "stem": "conv",
             "stem.*": "conv"},
      heads=["head", "head_dist"], steps=4, stages=("forward", "backward", "optimizer", "evaluation"), needs=["timm"])
def hybrid_backbone():
    from timm.data import Mixup
    from timm.loss import SoftTargetCrossEntropy
    from timm.models import create_model
    from timm.optim import create_optimizer_v2
    from timm.scheduler import CosineLRScheduler
    from timm.utils import AverageMeter, ModelEmaV3, NativeScaler, accuracy
    device = torch.device("cuda")
    model = create_model("levit_256", num_classes=100).to(device)
    model_ema = ModelEmaV3(model, decay=0.9998)
    watch(model_ema)
    optimizer = create_optimizer_v2(model, opt="lamb", lr=5e-3, weight_decay=0.02)
    scheduler, loss_scaler = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-5), NativeScaler()
    mixup_fn = Mixup(mixup_alpha=0.8, label_smoothing=0.1, num_classes=100)
    train_loss_fn, validate_loss_fn = SoftTargetCrossEntropy(), nn.CrossEntropyLoss()
    data = TensorDataset(torch.randn(32, 3, 224, 224), torch.randint(0, 100, (32,)))

    def train_one_epoch(epoch):
        model.train()
        for input, target in DataLoader(data, 16, shuffle=True, drop_last=True):
            input, target = mixup_fn(input.to(device), target.to(device))
            stage("mixed", inputs="input, target")
            with torch.amp.autocast("cuda"):
                output = model(input)
                loss = train_loss_fn(output, target)
            optimizer.zero_grad()
            loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
            model_ema.update(model)
        scheduler.step(epoch + 1)

    def validate(net):
        losses, top1 = AverageMeter(), AverageMeter()
        net.eval()
        with torch.inference_mode():
            for input, target in DataLoader(data, 16):
                input, target = input.to(device), target.to(device)
                with torch.amp.autocast("cuda"):
                    output = net(input)
                    loss = validate_loss_fn(output, target)
                acc1, _ = accuracy(output, target, topk=(1, 5))
                losses.update(loss.item(), input.size(0))
                top1.update(acc1.item(), input.size(0))

    for epoch in range(2):
        train_one_epoch(epoch)
        validate(model)
        validate(model_ema.module)


class ResidualUnit(nn.Module):
    def __init__(self, dim, dilation):
        super().__init__()
        self.block = nn.Sequential(nn.ELU(), nn.Conv1d(dim, dim // 2, 7, padding=3 * dilation, dilation=dilation),
                                   nn.ELU(), nn.Conv1d(dim // 2, dim, 1))

    def forward(self, x):
        return x + self.block(x)


class ResidualVectorQuantizer(nn.Module):
    """Each codebook encodes what the ones before it left."""

    def __init__(self, dim, codebooks=4, size=512):
        super().__init__()
        self.codebooks = nn.ModuleList(nn.Embedding(size, dim) for _ in range(codebooks))

    def forward(self, z):
        residual, quantized, loss = z.transpose(1, 2), 0.0, 0.0
        for codebook in self.codebooks:
            codes = torch.cdist(residual.float(), codebook.weight[None].expand(len(z), -1, -1)).argmin(-1)
            nearest = codebook(codes)
            loss = loss + F.mse_loss(residual, nearest.detach()) + F.mse_loss(nearest, residual.detach())
            nearest = residual + (nearest - residual).detach()
            quantized, residual = quantized + nearest, residual - nearest
        return quantized.transpose(1, 2), loss


class Codec(nn.Module):
    def __init__(self, dim=32, strides=(2, 4, 5), latent=64):
        super().__init__()
        encoder, decoder = [nn.Conv1d(1, dim, 7, padding=3)], [nn.Conv1d(dim, 1, 7, padding=3), nn.ELU()]
        for stride in strides:
            encoder += [ResidualUnit(dim, 1), ResidualUnit(dim, 3), nn.ELU(),
                        nn.Conv1d(dim, 2 * dim, 2 * stride, stride, padding=(stride + 1) // 2)]
            decoder += [ResidualUnit(dim, 3), ResidualUnit(dim, 1), nn.ConvTranspose1d(
                2 * dim, dim, 2 * stride, stride, (stride + 1) // 2, output_padding=stride % 2), nn.ELU()]
            dim *= 2
        self.encoder = nn.Sequential(*encoder, nn.ELU(), nn.Conv1d(dim, latent, 3, padding=1))
        self.quantizer = ResidualVectorQuantizer(latent)
        self.decoder = nn.Sequential(nn.Conv1d(latent, dim, 7, padding=3), nn.ELU(), *reversed(decoder))

    def forward(self, audio):
        quantized, commitment = self.quantizer(self.encoder(audio))
        return self.decoder(quantized), commitment


class PeriodDiscriminator(nn.Module):
    def __init__(self, period, dims=(1, 32, 64, 128)):
        super().__init__()
        self.period = period
        self.convs = nn.ModuleList(nn.Conv2d(i, o, (5, 1), (3, 1), (2, 0)) for i, o in zip(dims, dims[1:]))
        self.conv_post = nn.Conv2d(dims[-1], 1, (3, 1), padding=(1, 0))

    def forward(self, x):
        x, features = F.pad(x, (0, -x.shape[-1] % self.period)).unflatten(-1, (-1, self.period)), []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
            features.append(x)
        return self.conv_post(x), features


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminators = nn.ModuleList(PeriodDiscriminator(period) for period in (2, 3, 5))

    def forward(self, x):
        return [discriminator(x) for discriminator in self.discriminators]


def spectral_loss(real, fake):
    loss = 0.0
    for size in (256, 1024):
        window = torch.hann_window(size, device=real.device)
        a, b = (torch.stft(x.squeeze(1).float(), size, size // 4, window=window, return_complex=True).abs()
                for x in (real, fake))
        loss = loss + F.l1_loss(b, a) + F.l1_loss(b.clamp(min=1e-5).log(), a.clamp(min=1e-5).log())
    return loss


@case(family="Lightning Fabric", mode="audio codec and its discriminators, two optimizers, bf16-mixed, validated",
      roles={":_FabricModule": "other", ":ResidualUnit": "residual", ":ResidualVectorQuantizer": "other",
             "*.codebooks.*": "other", "*": "conv"},
      functions={"spectral_loss": "other"}, steps=4, stages=("forward", "backward", "optimizer", "evaluation"),
      needs=["lightning"])
def audio_codec():
    from lightning.fabric import Fabric
    fabric = Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    fabric.launch()
    generator, discriminator = Codec(), Discriminator()
    optimizer_g = torch.optim.AdamW(generator.parameters(), 2e-4, betas=(0.8, 0.99))
    optimizer_d = torch.optim.AdamW(discriminator.parameters(), 2e-4, betas=(0.8, 0.99))
    generator, optimizer_g = fabric.setup(generator, optimizer_g)
    discriminator, optimizer_d = fabric.setup(discriminator, optimizer_d)
    loader, val_loader = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.randn(32, 1, 8000)), 8),
                                                  DataLoader(TensorDataset(torch.randn(16, 1, 8000)), 8))
    for real, in loader:
        fake, commitment = generator(real)
        loss_d = 0.0
        for (score_real, _), (score_fake, _) in zip(discriminator(real), discriminator(fake.detach())):
            loss_d = loss_d + F.relu(1 - score_real).mean() + F.relu(1 + score_fake).mean()
        optimizer_d.zero_grad()
        fabric.backward(loss_d)
        optimizer_d.step()
        discriminator.requires_grad_(False)
        loss_g = 15 * spectral_loss(real, fake) + commitment
        with torch.no_grad():
            wanted = discriminator(real)
        for (score, features), (_, aims) in zip(discriminator(fake), wanted):
            loss_g = loss_g - score.mean() + 2 * sum(F.l1_loss(f, a) for f, a in zip(features, aims))
        optimizer_g.zero_grad()
        fabric.backward(loss_g)
        fabric.clip_gradients(generator, optimizer_g, max_norm=1.0)
        optimizer_g.step()
        discriminator.requires_grad_(True)
    generator.eval()
    with torch.no_grad():
        losses = [spectral_loss(real, generator(real)[0]) for real, in val_loader]
    fabric.print(torch.stack(losses).mean().shape)


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=4, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim * mult * 2), GEGLU(), nn.Dropout(dropout),
                                 nn.Linear(dim * mult, dim))

    def forward(self, x):
        return self.net(x)


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm, self.fn = nn.LayerNorm(dim), fn

    def forward(self, x, *args, **kwargs):
        return self.fn(self.norm(x), *args, **kwargs)


def attn(q, k, v):
    sim = torch.einsum("b i d, b j d -> b i j", q, k)
    return torch.einsum("b i j, b j d -> b i d", sim.softmax(dim=-1), v)


class DividedAttention(nn.Module):
    """Over the frames of a place, or the places of a frame; the token for the class sees all, and all see it."""

    def __init__(self, dim, dim_head=64, heads=8):
        super().__init__()
        self.heads, self.scale = heads, dim_head ** -0.5
        self.to_qkv, self.to_out = nn.Linear(dim, dim_head * heads * 3, bias=False), nn.Linear(dim_head * heads, dim)

    def forward(self, x, apart, together, **sizes):
        from einops import rearrange, repeat
        q, k, v = (rearrange(t, "b n (h d) -> (b h) n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        q = q * self.scale
        cls_out = attn(q[:, :1], k, v)
        (cls_k, q_), (cls_v, k_), v_ = (k[:, :1], q[:, 1:]), (v[:, :1], k[:, 1:]), v[:, 1:]
        q_, k_, v_ = (rearrange(t, f"{apart} -> {together}", **sizes) for t in (q_, k_, v_))
        times = len(q_) // len(cls_k)
        cls_k, cls_v = (repeat(t, "b () d -> (b r) () d", r=times) for t in (cls_k, cls_v))
        out = attn(q_, torch.cat((cls_k, k_), dim=1), torch.cat((cls_v, v_), dim=1))
        out = torch.cat((cls_out, rearrange(out, f"{together} -> {apart}", **sizes)), dim=1)
        return self.to_out(rearrange(out, "(b h) n d -> b n (h d)", h=self.heads))


class ToTokens(nn.Module):
    def __init__(self, dim, frames, size, patch):
        super().__init__()
        self.patch, num_positions = patch, frames * (size // patch) ** 2
        self.to_patch_embedding = nn.Linear(3 * patch ** 2, dim)
        self.pos_emb, self.cls_token = nn.Embedding(num_positions + 1, dim), nn.Parameter(torch.randn(1, dim))

    def forward(self, video):
        from einops import rearrange, repeat
        patches = rearrange(video, "b f c (h p) (w q) -> b (f h w) (p q c)", p=self.patch, q=self.patch)
        tokens = self.to_patch_embedding(patches)
        tokens = torch.cat((repeat(self.cls_token, "n d -> b n d", b=len(video)), tokens), dim=1)
        return tokens + self.pos_emb(torch.arange(tokens.shape[1], device=video.device))


class TimeSformer(nn.Module):
    def __init__(self, dim=256, frames=8, size=112, patch=16, num_classes=50, depth=4):
        super().__init__()
        self.to_tokens, self.n, self.f = ToTokens(dim, frames, size, patch), (size // patch) ** 2, frames
        self.layers = nn.ModuleList(nn.ModuleList(
            PreNorm(dim, fn) for fn in (DividedAttention(dim), DividedAttention(dim), FeedForward(dim, dropout=0.1)))
            for _ in range(depth))
        self.to_out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, video):
        x = self.to_tokens(video)
        for time_attn, spatial_attn, ff in self.layers:
            x = time_attn(x, "b (f n) d", "(b n) f d", n=self.n) + x
            x = spatial_attn(x, "b (f n) d", "(b f) n d", f=self.f) + x
            x = ff(x) + x
        return self.to_out(x[:, 0])


@case(family="video by einsum", mode="TimeSformer, fp16 scaler, two micro-batches, smoothed labels, scored on clips",
      roles={":DividedAttention": "attention", "*.fn.to_qkv": "attention", "*.fn.to_out": "attention",
             ":FeedForward": "mlp", "*.fn.net.*": "mlp", "*.fn.net": "mlp", "to_tokens": "embedding",
             "to_tokens.*": "embedding", ":TimeSformer": "residual"}, heads=["to_out.1"], steps=3, micro_batches=2,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["einops"])
def watches_clips():
    device = torch.device("cuda")
    model = TimeSformer().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3, momentum=0.9, weight_decay=1e-4)
    scheduler, scaler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 3]), torch.amp.GradScaler("cuda")
    criterion, accum_iter = nn.CrossEntropyLoss(label_smoothing=0.1), 2

    model.train()
    for it in range(6):
        clips, labels = torch.randn(4, 8, 3, 112, 112).to(device), torch.randint(0, 50, (4,)).to(device)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(clips), labels) / accum_iter
        scaler.scale(loss).backward()
        if (it + 1) % accum_iter == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()

    model.eval()
    scores = []
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        for _ in range(3):
            views = torch.randn(3, 8, 3, 112, 112).to(device)
            scores.append(model(views).softmax(dim=-1).mean(dim=0))
    print(torch.stack(scores).topk(5).indices.shape)


if __name__ == "__main__":
    main()
