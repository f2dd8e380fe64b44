# SPDX-License-Identifier: MIT
"""What PyTorch's allocator was asked for, block by block, against the history that it keeps itself."""
import json

import pytest

from recording import PYTHON, WORKLOADS, record, vtrace
from simulated import torch_python

SMALLEST_BLOCK = 512


def recorded(directory, python=PYTHON):
    recording = record(directory, python, WORKLOADS / "requested_sizes.py")
    assert recording.process.returncode == 0, recording.process.stderr
    history = json.loads(recording.process.stdout.splitlines()[0])
    blocks = recording.query("SELECT address, requested_bytes, stream, size_bytes FROM allocation"
                             " WHERE kind = 1 ORDER BY id")
    return recording, history, blocks[:len(history)]


def assert_same(history, blocks):
    assert [entry["address"] for entry in history] == [address for address, *_ in blocks]
    for entry, (_, requested, _, size) in zip(history, blocks, strict=True):
        if entry["bytes"] >= SMALLEST_BLOCK:
            assert requested == entry["bytes"]
        else:
            assert (requested, size) == (None, SMALLEST_BLOCK)
    # The history has handles, we have PyTorch's numbers: one for each.
    pairs = {(entry["stream"], stream) for entry, (_, _, stream, _) in zip(history, blocks, strict=True)}
    assert len(pairs) == 2
    assert (0, 0) in pairs
    assert len({stream for _, stream in pairs}) == 2


def test_every_request_is_the_one_in_pytorchs_history(tmp_path):
    recording, history, blocks = recorded(tmp_path)
    assert len(history) == 61
    assert_same(history, blocks)
    assert recording.value("SELECT requested_bytes FROM out_of_memory") == 1 << 40


def test_what_was_not_asked_for_is_told_apart(tmp_path):
    """Per owner in the report, by its reason in frag: both against PyTorch's history, below 512 bytes a whole block."""
    recording, history, _ = recorded(tmp_path)
    ids = [event for event, in recording.query("SELECT id FROM allocation WHERE kind = 1 ORDER BY id")]
    asked = {event: max(entry["bytes"], SMALLEST_BLOCK) for entry, event in zip(history, ids)}
    last = ids[len(history) - 1]
    live = recording.query("SELECT id, size_bytes FROM allocation WHERE kind = 1 AND id <= ?1"
                           " AND coalesce(freed_event, ?1 + 1) > ?1", last)
    when = ("--at", f"event:{last}")
    at_last = recording.report(*when)["devices"][0]["peak"]
    assert at_last["allocated_requested_bytes"] == sum(asked[event] for event, _ in live)
    assert sum(owner.get("requested_bytes", 0) for owner in at_last["owners"]) == at_last["allocated_requested_bytes"]
    assert "  of which asked for" in vtrace("report", recording.database, *when).stdout
    done = vtrace("frag", recording.database, *when, "--json")
    at_last = json.loads(done.stdout)["devices"][0]["at"]
    assert at_last["rounding_bytes"] == sum(-asked[event] % SMALLEST_BLOCK for event, _ in live) > 0
    assert at_last["tail_bytes"] == sum(size - asked[event] for event, size in live) - at_last["rounding_bytes"] > 0


@pytest.mark.full
@pytest.mark.parametrize("version", ["2.6.0", "2.15.0"])
def test_other_releases_say_the_same(tmp_path, version):
    _, history, blocks = recorded(tmp_path, torch_python(version))
    assert_same(history, blocks)
