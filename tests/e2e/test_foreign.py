# SPDX-License-Identifier: MIT
"""Programs without PyTorch: whose the memory is, by functions and libraries."""
import shutil
import subprocess

import pytest

from recording import BUILD, SOURCE, record, record_python

WORKLOADS = SOURCE / "tests" / "workloads"
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


def python_with(clients):
    done = subprocess.run([str(SOURCE / "scripts" / "clients-venv"), "--cached", clients], capture_output=True,
                          text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def driver_memory(recording):
    """(bytes, function, was it freed) of the recording, and of the ledger; the end of its context frees it too."""
    recorded = recording.query("SELECT a.size_bytes, f.name, a.freed_event IS NOT NULL FROM allocation a"
                               " JOIN function f ON f.id = a.function ORDER BY a.id")
    ledger, live = [], {}
    for line in recording.read_ledger().lines:
        if line.op == "alloc":
            live[line.pointer] = len(ledger)
            ledger.append((line.size, line.function, 0))
        elif line.op in ("free", "freed-by-destroy", "gone"):
            place = live.pop(line.pointer)
            ledger[place] = (*ledger[place][:2], 1)
    return recorded, ledger


# What of scripts/clients-venv each runs with, how many allocations it makes, and whose its batches are.
CLIENTS = {"cuda_python_client.py": ("numba", 4, "user/take_batch"),
           "numba_client.py": ("numba", 3, "user/take_batch"),
           "cupy_client.py": ("cupy", 8, "pool/cupy"),
           "pycuda_client.py": ("pycuda", 5, "user/take_batch"),
           "jax_client.py": ("jax", 7, "pool/xla"),
           "taichi_client.py": ("taichi", 5, "user/take_batch"),
           "tinygrad_client.py": ("taichi", 6, "user/take_batch")}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_others_is_recorded_as_the_ledger_says(client, tmp_path):
    clients, allocations, owner = CLIENTS[client]
    recording = record(tmp_path, python_with(clients), WORKLOADS / client,
                       env={"CUPY_CACHE_DIR": str(tmp_path / "kernels")})
    assert recording.process.returncode == 0, recording.process.stderr
    recorded, ledger = driver_memory(recording)
    assert recorded == ledger
    assert len(recorded) == allocations
    peak = recording.report()["devices"][0]["peak"]
    assert peak["difference_bytes"] == 0
    named = {o["owner"] for o in peak["owners"] if o["blocks"]}
    assert owner in named, named
