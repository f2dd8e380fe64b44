# SPDX-License-Identifier: MIT
"""Keep the results of batches that grow; then run one that is larger than any gap left between them.

Every batch's hidden state is a little larger than the one before, so it needs a new segment.  Its result, half as
large, is a little larger than what is left of the older segments, so it goes into the newest free one and pins its
other half.
"""
import argparse

import torch
from torch import nn

WIDTH = 8192


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(256, WIDTH)
        self.narrow = nn.Linear(WIDTH, WIDTH // 2)

    def forward(self, rows):
        return self.narrow(nn.functional.gelu(self.widen(rows)))


def collect(model, rows, growth, batches):
    features = []
    for _ in range(batches):
        batch = torch.empty(rows, 256).to("cuda")
        features.append(model(batch))
        rows += growth
    return features


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=28)
    parser.add_argument("--rows", type=int, default=16384, help="of the first batch")
    parser.add_argument("--growth", type=int, default=512, help="rows that the next one has more")
    parser.add_argument("--last", type=int, default=262144, help="rows of the one at the end")
    options = parser.parse_args()
    model = Encoder().to("cuda")
    with torch.no_grad():
        features = collect(model, options.rows, options.growth, options.batches)
        features.append(model.widen(torch.empty(options.last, 256).to("cuda")))
    print(f"done, {len(features)} results, peak {torch.cuda.max_memory_reserved()} bytes")


if __name__ == "__main__":
    main()
