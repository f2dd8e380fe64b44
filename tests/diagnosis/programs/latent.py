# SPDX-License-Identifier: MIT
"""Latent diffusion of diffusers: a frozen autoencoder encodes, a UNet learns to denoise; an average of it is kept."""
# variants: clean module-unused graph-unused frozen-weights-wide
import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DModel
from torch.nn import functional as F

from advice import adamw, advised, mistake

vae = AutoencoderKL(block_out_channels=(96, 192, 384), down_block_types=("DownEncoderBlock2D",) * 3,
                    up_block_types=("UpDecoderBlock2D",) * 3, norm_num_groups=32, layers_per_block=1)
unet = UNet2DModel(sample_size=16, in_channels=4, out_channels=4, block_out_channels=(96, 192, 256),
                   down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
                   up_block_types=("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"), layers_per_block=1)
vae.eval()
if not mistake("graph-unused"):
    vae.requires_grad_(False)
if not mistake("frozen-weights-wide"):
    vae.to(torch.bfloat16)
if not mistake("module-unused"):
    vae.decoder = None
vae.cuda()
unet.cuda()
if advised("activations-kept"):
    unet.enable_gradient_checkpointing()
noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
opt = adamw(unet.parameters())
for step in range(3):
    pictures = torch.randn(2, 3, 64, 64).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        with torch.set_grad_enabled(mistake("graph-unused")):
            latents = vae.encode(pictures).latent_dist.sample() * 0.18
        if not mistake("graph-unused"):
            latents = latents.detach()
        noise = torch.randn_like(latents)
        when = torch.randint(0, 1000, (2,))
        noisy = noise_scheduler.add_noise(latents.detach().float().cpu(), noise.float().cpu(), when).cuda()
        guess = unet(noisy, when.cuda()).sample
        loss = F.mse_loss(guess.float(), noise.float())
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(loss.item())
    del loss, guess, noisy, noise, latents
