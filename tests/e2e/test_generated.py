# SPDX-License-Identifier: MIT
"""Code that torch.compile generated: the recording keeps what it says, reports show the user's lines."""
import json
import pathlib

import pytest
from recording import PYTHON, WORKLOADS, record, vtrace

BYTES = 64 * 1024 * 4


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("generated"), PYTHON, WORKLOADS / "generated_code.py",
                       env={"VTRACE_PROBE": "2"}, options=("-q",))
    assert recording.process.returncode == 0, recording.process.stderr
    pathlib.Path(recording.process.stdout.split()[0]).unlink()
    return recording


def test_its_lines_are_kept_when_the_file_is_gone(recording):
    (text,), = recording.query("SELECT text FROM python_source WHERE kind = 2")
    lines = [line.split("\t")[0] for line in text.splitlines()]
    assert lines == ["3", "8", "9", "10", "11", "12", "13"]
    assert "8\tbuf0 = empty_strided_cuda((64, 1024), (1024, 1))" in text


def test_places_are_the_users_lines(recording):
    done = vtrace("blocks", recording.database, "--at", "peak", "--json")
    blocks = [b for b in json.loads(done.stdout)["blocks"] if b["size_bytes"] == BYTES and b["kind"] == "block"]
    assert sorted(b["python"][:2] for b in blocks) == [["/code/net.py:30 up", "/code/net.py:3 forward"],
                                                       ["/code/net.py:40 up", "/code/net.py:4 forward"]]
    assert all("generated_code.py" in b["python"][2] for b in blocks)
