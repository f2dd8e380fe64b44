# SPDX-License-Identifier: MIT
"""Greedy generation with the key-value cache of a transformers model made from a small configuration."""
import argparse

import torch
from transformers import AutoModelForCausalLM

from transformers_step import make_config


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="llama", help="a transformers model type, such as llama or qwen2")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of the prompt")
    parser.add_argument("--new", type=int, default=24, help="tokens to generate")
    parser.add_argument("--batch", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse()
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(make_config(options.kind), dtype=torch.bfloat16)
    model.eval()
    prompt = torch.randint(3, 32000, (options.batch, options.prompt)).to("cuda")
    answer = model.generate(prompt, max_new_tokens=options.new, do_sample=False)
    print(f"generated {answer.shape[1] - options.prompt} tokens of {options.new}")
    print(f"peak {torch.cuda.max_memory_allocated()} bytes")


if __name__ == "__main__":
    main()
