# SPDX-License-Identifier: MIT
"""A little training on each of two devices, in turns."""
import torch


def main():
    models = [torch.nn.Linear(1024, 1024).to(f"cuda:{i}") for i in range(2)]
    for width in (64, 512, 2048):
        for i, model in enumerate(models):
            model(torch.randn(width * (i + 1), 1024, device=f"cuda:{i}")).sum().backward()
        models[0].zero_grad()
        torch.cuda.empty_cache()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
