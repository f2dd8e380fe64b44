# SPDX-License-Identifier: MIT
"""PyTorch's own memory recording: history, snapshot, summary."""
import torch


def main():
    torch.cuda.memory._record_memory_history()
    model = torch.nn.Linear(1024, 1024).to("cuda")
    model(torch.randn(32, 1024).to("cuda")).sum().backward()
    del model
    snapshot = torch.cuda.memory._snapshot()
    actions = [entry["action"] for entry in snapshot["device_traces"][0]]
    stats = torch.cuda.memory_stats()
    print(f"allocs recorded {actions.count('alloc')} counted {stats['allocation.all.allocated']}")
    print(f"segments {len(snapshot['segments'])}")
    print(torch.cuda.memory_summary(abbreviated=True).splitlines()[1].strip(" |"))


if __name__ == "__main__":
    main()
