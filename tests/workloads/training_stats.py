# SPDX-License-Identifier: MIT
"""Three training steps in the words of any PyTorch since 1.13; prints the caching allocator's own counts as JSON."""
import json

import torch


def main():
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        batch = torch.randn(64, 512, device="cuda")
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    stats = torch.cuda.memory_stats()
    print(json.dumps({key: stats[key] for key in (
        "allocation.all.allocated", "allocation.all.freed", "allocated_bytes.all.allocated",
        "allocated_bytes.all.freed", "allocated_bytes.all.peak", "reserved_bytes.all.peak")}))


if __name__ == "__main__":
    main()
