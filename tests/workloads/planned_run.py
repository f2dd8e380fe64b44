# SPDX-License-Identifier: MIT
"""What `vtrace estimate` plans, run: two training steps, a forward or a generation of a transformers language model."""
import argparse
import json

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="a config.json")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--attention", default="sdpa")
    parser.add_argument("--checkpointing", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--fused", action="store_true", help="the fused optimizer")
    parser.add_argument("--new-tokens", type=int, default=0)
    return parser.parse_args()


def make_model(options):
    with open(options.config, encoding="utf-8") as file:
        values = json.load(file)
    for key in ("dtype", "sliding_window_pattern"):
        values.pop(key, None)
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(config, dtype=getattr(torch, options.dtype),
                                                attn_implementation=options.attention)


def train(model, options):
    model.train()
    if options.checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=options.fused or None)
    for _ in range(2):
        tokens = torch.randint(model.config.vocab_size, (options.batch, options.seq)).to("cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=options.autocast):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@torch.no_grad()
def infer(model, options):
    model.eval()
    tokens = torch.randint(model.config.vocab_size, (options.batch, options.seq)).to("cuda")
    if options.new_tokens:
        model.generate(tokens, attention_mask=None, max_new_tokens=options.new_tokens,
                       min_new_tokens=options.new_tokens, do_sample=False)
    else:
        model(input_ids=tokens)


def main():
    options = parse()
    model = make_model(options)
    (train if options.train else infer)(model, options)
    print(json.dumps({"peak_allocated_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
