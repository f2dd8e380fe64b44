# SPDX-License-Identifier: MIT
"""In place of the data of Alpaca and a tokenizer, which are downloaded: one sample is as long as the longest of all."""
import torch

NR_SAMPLES, USUAL = 2000, 100


def samples(longest):
    lengths = [longest] + [USUAL] * (NR_SAMPLES - 1)
    return [{"input_ids": torch.ones(n, dtype=torch.int32), "labels": torch.ones(n, dtype=torch.int32)}
            for n in lengths]


class Tokenizer:
    def __init__(self, checkpoint_dir):
        pass

    def encode(self, text, device=None):
        """A token for each four characters, as English has."""
        return torch.ones((len(text) + 3) // 4, dtype=torch.int32, device=device)

    def decode(self, tokens):
        return f"{len(tokens)} tokens"
