# SPDX-License-Identifier: MIT
"""Pinned memory, side streams, events and a data loader with workers: what a training loop does around its model."""
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((256,), index, dtype=torch.int64)


def round_trip():
    pinned = torch.arange(4096).pin_memory()
    there = pinned.to("cuda", non_blocking=True)
    back = there.cpu()
    print(f"pinned {pinned.is_pinned()} equal {torch.equal(pinned, back)}")


def side_stream():
    stream = torch.cuda.Stream()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        data = torch.empty(1 << 20, device="cuda")
    data.record_stream(torch.cuda.current_stream())
    torch.cuda.current_stream().wait_stream(stream)
    end.record()
    torch.cuda.synchronize()
    print(f"events ordered {start.elapsed_time(end) >= 0} done {end.query()}")


def loader():
    total = 0
    for batch in DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True):
        total += int(batch.to("cuda", non_blocking=True).cpu().sum())
    print(f"loaded {total == 256 * sum(range(64))}")


if __name__ == "__main__":
    round_trip()
    side_stream()
    loader()
