# SPDX-License-Identifier: MIT
"""Programs without PyTorch: whose the memory is, by functions and libraries."""
import shutil

import pytest

from recording import BUILD, record, record_python

PROGRAMS = BUILD / "tests" / "workloads"
MIB = 1 << 20


def owners(recording, when="end"):
    return sorted((b["size_bytes"], b["owner"], b["provenance"]) for b in recording.blocks(when)["blocks"])


def test_functions_of_libraries_are_known_by_their_names(tmp_path):
    """Stand-ins: functions with the names of real ones, in libraries with the names of real ones."""
    recording = record(tmp_path, PROGRAMS / "stand_ins", PROGRAMS / "stand_ins.d")
    assert recording.process.returncode == 0, recording.process.stderr
    wanted = [line.split(" ", 1) for line in recording.process.stdout.splitlines()]
    assert len(wanted) == 24
    assert owners(recording) == sorted((int(size), owner, "frames") for size, owner in wanted)


def test_functions_of_a_c_program(tmp_path):
    recording = record(tmp_path, PROGRAMS / "driver_client", "2")
    peak = recording.report()["devices"][0]["peak"]
    blocks = {o["owner"]: o["blocks"] for o in peak["owners"] if o["blocks"]}
    # All memory comes from one function, take(), which three others call.
    assert blocks == {"user/load_weights": 12, "user/forward": 12, "user/backward": 1}
    assert recording.report()["coverage"]["unknown"] == 0


def test_functions_of_a_python_program(tmp_path):
    recording = record_python(tmp_path, "driver_client.py")
    assert recording.process.returncode == 0, recording.process.stderr
    named = {size // MIB: owner for size, owner, _ in owners(recording)}
    # Each asks through allocate(), which is passed over; the first is a method of a module.
    assert named == {1: "activations/other", 2: "user/generator", 3: "user/in_thread", 4: "user/recurse"}


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg here")
def test_frames_of_ffmpeg_are_a_pool(tmp_path):
    recording = record(tmp_path, shutil.which("ffmpeg"), "-loglevel", "error", "-f", "lavfi", "-i",
                       "testsrc=size=1280x720:rate=5:duration=1", "-vf",
                       "format=nv12,hwupload_cuda,hwdownload,format=nv12", "-f", "null", "-")
    assert recording.process.returncode == 0, recording.process.stderr
    held = owners(recording, "peak")
    assert held and {owner for _, owner, _ in held} == {"pool/ffmpeg"}
