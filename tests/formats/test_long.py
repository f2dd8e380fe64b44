# SPDX-License-Identifier: MIT
"""What `vtrace export` leaves out of a long recording: never of a peak, and not without saying so."""
import dataclasses
import re
import sys

import pytest
from exported import peaks, query_trace, run_viewer, training  # noqa: F401
from recording import SOURCE, vtrace
from test_pytorch import load, replay

EVENTS = 1_300_000

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def long_recording(training, tmp_path_factory):  # noqa: F811
    """The same steps over and over, as rows: see tests/bench/README.md."""
    sys.path.append(str(SOURCE / "tests" / "bench"))
    from commands import repeat
    path = tmp_path_factory.mktemp("long") / "long.db"
    repeat(training.database, path, EVENTS)
    return dataclasses.replace(training, database=path)


def export_long(made, format, output, *options):
    """(path, what was said) of an export that may leave something out."""
    done = vtrace("export", "--format", format, "-o", output, *options, made.database)
    assert done.returncode == 0, done.stderr
    return output, done.stderr


def allocs(snapshot):
    return sum(event["action"] == "alloc" for trace in snapshot["device_traces"] for event in trace)


def test_a_snapshot_keeps_the_peak(long_recording, tmp_path):
    path, said = export_long(long_recording, "pytorch", tmp_path / "s.pickle")
    left_out, of_all = map(int, re.match(r"vtrace: (\d+) of (\d+) blocks are left out, ", said).groups())
    snapshot = load(path)
    assert left_out > 0 and allocs(snapshot) == of_all - left_out
    assert replay(snapshot)[0][0] == peaks(long_recording)[0]["allocated"]
    whole, said = export_long(long_recording, "pytorch", tmp_path / "whole.pickle", "--all")
    assert said == "" and allocs(load(whole)) == of_all


def test_counters_keep_their_peaks(long_recording, tmp_path):
    path, said = export_long(long_recording, "perfetto", tmp_path / "run.perfetto")
    assert re.fullmatch(r"vtrace: \d+ events in 65536 equal parts: each counter has the lowest, highest and last value"
                        r" of each part; --all writes everything\n", said)
    found = query_trace(path)["counters"]
    whole = query_trace(export_long(long_recording, "perfetto", tmp_path / "whole", "--all")[0])["counters"]
    assert sum(row["points"] for row in found.values()) < sum(row["points"] for row in whole.values()) / 2
    assert {name: (row["most"], row["least"]) for name, row in found.items()} == {
        name: (row["most"], row["least"]) for name, row in whole.items()}
    assert found["cuda:0 allocated"]["most"] == peaks(long_recording)[0]["allocated"]


def test_a_timeline_of_the_profiler_keeps_the_peak(long_recording, tmp_path):
    path, said = export_long(long_recording, "memory-timeline", tmp_path / "run.raw.json.gz")
    assert "blocks are left out" in said
    assert run_viewer("hta", "read_kineto.py", "memory-timeline", path)["peak"] == peaks(long_recording)[0]["allocated"]
