# SPDX-License-Identifier: MIT
"""Weights that stay on the host: what a layer needs is brought to the device when it runs."""
import torch
import torch.nn.functional as F
from stage import case, head, main, stage

V, D, HEADS, LAYERS = 16000, 512, 8, 6


def read_checkpoint():
    def fresh(*shape):
        return (torch.randn(shape) * 0.02).half()

    held = {"words": fresh(V, D), "norm": torch.ones(D).half(), "output": fresh(V, D)}
    for i in range(LAYERS):
        held |= {f"{i}.norm1": torch.ones(D).half(), f"{i}.norm2": torch.ones(D).half(), f"{i}.qkv": fresh(3 * D, D),
                 f"{i}.o": fresh(D, D), f"{i}.up": fresh(4 * D, D), f"{i}.down": fresh(D, 4 * D)}
    return held


class Checkpoint:
    def __init__(self):
        self.held = read_checkpoint()

    def fetch(self, name):
        return self.held[name].to("cuda")


def attend(x, checkpoint, i):
    b, t, _ = x.shape
    q, k, v = F.linear(x, checkpoint.fetch(f"{i}.qkv")).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, D)
    return F.linear(seen, checkpoint.fetch(f"{i}.o"))


def widen(x, checkpoint, i):
    return F.linear(F.gelu(F.linear(x, checkpoint.fetch(f"{i}.up"))), checkpoint.fetch(f"{i}.down"))


def level(x, checkpoint, name):
    return F.rms_norm(x, (D,), checkpoint.fetch(name))


@case(family="decoder of functions", mode="fp16, every weight fetched from the host when it is needed",
      functions={"fetch": "weights", "attend": "attention", "widen": "mlp", "level": "norm"}, hard=True)
def fetched_weights():
    checkpoint = Checkpoint()
    with torch.inference_mode():
        for turn in range(3):
            ids = torch.randint(0, V, (4, 64))
            x = checkpoint.held["words"][ids].to("cuda")
            stage(f"given-{turn}", inputs="x")
            for i in range(LAYERS):
                x = x + attend(level(x, checkpoint, f"{i}.norm1"), checkpoint, i)
                x = x + widen(level(x, checkpoint, f"{i}.norm2"), checkpoint, i)
                stage(f"layer-{turn}.{i}", activations="x")
            scores = head(F.linear(level(x, checkpoint, "norm")[:, -1], checkpoint.fetch("output")))
            choice = scores.argmax(-1)
            stage(f"said-{turn}", user="choice", activations="x")


if __name__ == "__main__":
    main()
