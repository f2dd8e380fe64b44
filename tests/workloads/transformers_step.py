# SPDX-License-Identifier: MIT
"""One bf16 training step of a transformers language model made from a small configuration, without any download."""
import argparse

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def make_config(kind):
    return AutoConfig.for_model(
        kind,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=32000,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
    )


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="qwen2", help="a transformers model type, such as llama or qwen2")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--checkpointing", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(make_config(options.kind), dtype=torch.bfloat16)
    if options.checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for step in range(1, options.steps + 1):
        tokens = torch.randint(32000, (options.batch, options.length)).to("cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f} peak {torch.cuda.max_memory_allocated()} bytes")


if __name__ == "__main__":
    main()
