# SPDX-License-Identifier: MIT
"""Two of the programs of tests/snapshot/run: a snapshot says what the recording of the same run says."""
import pytest

import compare
from recording import vtrace

QUICK = ("mlp", "worn")


@pytest.mark.parametrize("name", QUICK)
def test_snapshot_and_recording_agree(name, tmp_path):
    program = next(one for one in compare.PROGRAMS if one.name == name)
    for row in compare.run(program, tmp_path / "run"):
        assert not row.misses, row
        assert row.blocks[0] > 8
        assert row.owners > 0.85, row


def test_there_and_back(tmp_path):
    """What vtrace exports as a snapshot and imports again has the figures of the recording."""
    program = next(one for one in compare.PROGRAMS if one.name == "worn")
    compare.run(program, tmp_path / "run")
    snapshot = tmp_path / "exported.pickle"
    done = vtrace("export", "--format", "pytorch", "-o", snapshot, tmp_path / "run" / "run.db")
    assert done.returncode == 0, done.stderr
    row = compare.compare("exported", tmp_path / "run" / "run.db", snapshot)
    # Exported entries have the sizes of blocks, so that a viewer's sum is what was allocated.
    assert row.misses in ([], ["requested"]), row


@pytest.mark.full
@pytest.mark.parametrize("name", [one.name for one in compare.PROGRAMS if one.name not in (*QUICK, "graphs")])
def test_all_of_them(name, tmp_path):
    test_snapshot_and_recording_agree(name, tmp_path)
