# SPDX-License-Identifier: MIT
"""Pictures: diffusers' UNet and transformer as their training scripts call them, timm with a scaler."""
import torch
import torch.nn.functional as F
from program import case, main, stage, watch

DIFFUSERS = {"*.attn1": "attention", "*.attn2": "attention", "*.attn": "attention", "*.ff": "mlp",
             "*.resnets.?": "conv", "*.downsamplers.?": "conv", "*.upsamplers.?": "conv", "*norm*": "norm"}


@case(family="diffusers UNet", mode="autocast fp16 with a scaler", roles=DIFFUSERS, steps=3,
      stages=("forward", "backward", "optimizer"), needs=["diffusers"])
def unet_denoises():
    from diffusers import DDPMScheduler, UNet2DConditionModel
    model = UNet2DConditionModel(sample_size=16, block_out_channels=(64, 128), layers_per_block=1,
                                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=64,
                                 attention_head_dim=8).cuda()
    scheduler, scaler = DDPMScheduler(), torch.amp.GradScaler("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(3):
        latents, words = torch.randn(12, 4, 16, 16).to("cuda"), torch.randn(12, 20, 64).to("cuda")
        noise = torch.randn_like(latents)
        moments = torch.randint(0, 1000, (12,), device="cuda")
        noisy = scheduler.add_noise(latents, noise, moments)
        stage("noised", inputs="noisy")
        with torch.autocast("cuda", torch.float16):
            loss = F.mse_loss(model(noisy, moments, words).sample.float(), noise)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@case(family="diffusers transformer", mode="bf16, flow matching", roles=DIFFUSERS, steps=3,
      stages=("forward", "backward", "optimizer"), needs=["diffusers"])
def transformer_denoises():
    from diffusers import SD3Transformer2DModel
    model = SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, num_layers=3, attention_head_dim=32,
                                  num_attention_heads=8, joint_attention_dim=64, caption_projection_dim=256,
                                  pooled_projection_dim=64, out_channels=4).cuda().bfloat16()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(3):
        latents = torch.randn(6, 4, 16, 16).to("cuda", torch.bfloat16)
        words, pooled = (torch.randn(*shape).to("cuda", torch.bfloat16) for shape in ((6, 20, 64), (6, 64)))
        noise, t = torch.randn_like(latents), torch.rand(6, device="cuda", dtype=torch.bfloat16)
        mixed = (1 - t[:, None, None, None]) * latents + t[:, None, None, None] * noise
        stage("noised", inputs="mixed")
        made = model(mixed, encoder_hidden_states=words, pooled_projections=pooled, timestep=1000 * t).sample
        loss = F.mse_loss(made.float(), (noise - latents).float())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@case(family="timm", mode="ConvNeXt, autocast bf16, channels last, average of weights, validated",
      roles={"*.mlp": "mlp", "*.conv_dw": "conv", "*norm*": "norm"}, heads=["*head.fc"], steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["timm"])
def timm_classifies():
    import timm
    import timm.optim
    from timm.utils import ModelEmaV3
    model = timm.create_model("convnext_atto", num_classes=100, conv_mlp=False).cuda()
    model = model.to(memory_format=torch.channels_last)
    average = ModelEmaV3(model, decay=0.99)
    watch(average)
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
    for _ in range(2):
        model.train()
        for _ in range(2):
            images = torch.randn(8, 3, 96, 96).to("cuda", memory_format=torch.channels_last)
            labels = torch.randint(0, 100, (8,)).to("cuda")
            with torch.autocast("cuda", torch.bfloat16):
                loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            average.update(model)
        model.eval()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            for _ in range(2):
                images = torch.randn(8, 3, 96, 96).to("cuda", memory_format=torch.channels_last)
                model(images).argmax(-1)


if __name__ == "__main__":
    main()
