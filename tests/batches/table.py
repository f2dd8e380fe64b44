# SPDX-License-Identifier: MIT
"""The programs, with the batch that is recorded and the one that is foretold."""
from batches import Program

PROGRAMS = [Program("programs.py", *row) for row in (
    ("resnet", 16, 40), ("unet", 12, 32), ("autoencoder", 256, 640), ("decoder", 4, 10), ("eager_decoder", 8, 3),
    ("decoding", 8, 20), ("accumulation", 16, 40), ("seq2seq", 8, 20), ("recurrent", 128, 320), ("gan", 256, 640),
    ("policy", 512, 1280), ("diffusion", 16, 50), ("contrastive", 256, 640), ("gathered", 12, 32),
)]
