# SPDX-License-Identifier: MIT
"""After a failure in the first step: a batch that is said to fit no whole step fits none."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from batches import bounded, is_failing  # noqa: E402
from table import PROGRAMS  # noqa: E402

QUICK = ("autoencoder", "decoder")
SHARES = (0.45, 0.6, 0.8)  # of what the run takes: it fails in forward, in backward, in the optimizer's step


def parameters():
    return [pytest.param(p, share, id=f"{p.name}-{share}",
                         marks=() if p.name in QUICK and share == 0.6 else pytest.mark.full)
            for p in PROGRAMS if p.name != "decoding" for share in SHARES]


@pytest.mark.parametrize("program, share", parameters())
def test_a_batch_above_the_bound_fails(program, share, tmp_path):
    told, card = bounded(tmp_path, program, share)
    if program.name in QUICK:
        assert told["no_batch_above"] is not None
    if told and told["no_batch_above"] is not None:
        assert told["no_batch_above"] < program.new
        assert is_failing(tmp_path, program, told["no_batch_above"] + 1, card)
