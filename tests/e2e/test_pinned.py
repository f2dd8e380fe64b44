# SPDX-License-Identifier: MIT
"""Page-locked host memory in the report, against the driver's ledger."""
from recording import record_python, vtrace

MIB = 1 << 20


def test_pinned_memory_and_its_rounding_are_reported(tmp_path):
    recording = record_python(tmp_path, "pinned_batches.py")
    assert recording.process.stdout == "asked for 2 x 300 MiB\n"
    ledger = [line.split() for line in recording.ledger.read_text().splitlines()]
    taken = [int(words[5]) for words in ledger if words[1:3] == ["alloc", "host"]]
    pinned = recording.report()["pinned_host"]
    assert pinned["peak_bytes"] == pinned["power_of_two_bytes"] == sum(taken) == 2 * 512 * MIB
    assert pinned["blocks"] == 2
    line = "pinned host memory: peak 1.00 GiB in 2 blocks; PyTorch rounded 1.00 GiB up to powers of two: "
    assert line in vtrace("report", recording.database).stdout


def test_a_few_bytes_are_no_line(tmp_path):
    """PyTorch reads a loss through page-locked memory."""
    recording = record_python(tmp_path, "train_mlp.py")
    assert 0 < recording.report()["pinned_host"]["peak_bytes"] < MIB
    assert "pinned host memory" not in vtrace("report", recording.database).stdout
