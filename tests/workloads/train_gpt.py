# SPDX-License-Identifier: MIT
"""Train a small GPT with AdamW on random text: about 58 million parameters with the default options."""
import argparse
import contextlib
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    vocabulary: int = 32768
    context: int = 512
    layers: int = 8
    heads: int = 8
    width: int = 512
    checkpointing: bool = False


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens, targets):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            if self.config.checkpointing:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--vocabulary", type=int, default=32768)
    parser.add_argument("--optimizer", choices=["foreach", "fused"], default="foreach")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="bf16",
                        help="bf16: autocast; fp16: autocast with a gradient scaler")
    parser.add_argument("--checkpointing", action="store_true", help="recompute each block in the backward pass")
    return parser.parse_args()


def main():
    options = parse()
    device = torch.device("cuda")
    torch.manual_seed(0)
    config = Config(vocabulary=options.vocabulary, layers=options.layers, width=options.width,
                    checkpointing=options.checkpointing)
    model = GPT(config).to(device)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, **{options.optimizer: True})
    scaler = torch.amp.GradScaler("cuda", enabled=options.precision == "fp16")
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.precision)
    precision = torch.autocast("cuda", dtype) if dtype else contextlib.nullcontext()

    for step in range(1, options.steps + 1):
        text = torch.randint(config.vocabulary, (options.batch, options.length + 1)).to(device)
        with precision:
            loss = model(text[:, :-1], text[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(f"step {step} loss {loss.item():.4f} peak {torch.cuda.max_memory_allocated()} bytes")


if __name__ == "__main__":
    main()
