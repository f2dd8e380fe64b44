# SPDX-License-Identifier: MIT
"""In the place of the hidden states and the classifier of Gemma 2 (2B): 8,192 tokens, none of them to be ignored."""
import types

import torch
from cut_cross_entropy import cce, torch_compile

TOKENS, VOCABULARY, HIDDEN = 8192, 256000, 2304

cce._build_flat_valids = torch_compile._build_flat_valids = lambda *_: None  # what it answers where none is ignored


def data(dtype):
    return types.SimpleNamespace(embedding=torch.randn(TOKENS, HIDDEN, dtype=dtype, device="cuda"),
                                 classifier=torch.randn(VOCABULARY, HIDDEN, dtype=dtype, device="cuda"),
                                 targets=torch.randint(VOCABULARY, (TOKENS,), device="cuda"), softcap=30.0)


def generator(_):
    return data
