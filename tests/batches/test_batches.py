# SPDX-License-Identifier: MIT
"""What is foretold of another batch comes out when the program runs with it."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from batches import WORST, scaled  # noqa: E402
from table import PROGRAMS  # noqa: E402

QUICK = ("autoencoder", "accumulation")
# Sums over rows take a workspace whose size follows the device's multiprocessors, and not the batch.
NOT_FORETOLD = ("policy",)


def parameters(programs):
    return [pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.full) for p in programs]


@pytest.mark.parametrize("program", parameters(p for p in PROGRAMS if p.name not in NOT_FORETOLD))
def test_another_batch_takes_what_is_foretold(program, tmp_path):
    foretold, measured = scaled(tmp_path, program)
    assert foretold == pytest.approx(measured, rel=WORST)
