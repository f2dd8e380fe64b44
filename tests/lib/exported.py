# SPDX-License-Identifier: MIT
"""What `vtrace export` writes for other programs, and the figures of `vtrace` that these must come to."""
import functools
import json
import os
import shutil
import subprocess
import sys

import pytest
from recording import BUILD, SOURCE, TIMEOUT_S, record, record_python, vtrace

EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
SMALL_GPT = ("--steps", "2", "--layers", "2", "--width", "128", "--vocabulary", "2048")

# Recordings that differ in what a format has to say of them.
RECORDINGS = {
    "training": lambda directory: record_python(directory, "train_gpt.py", *SMALL_GPT),
    "expandable": lambda directory: record_python(directory, "train_gpt.py", *SMALL_GPT, env=EXPANDABLE),
    "two devices": lambda directory: record_python(directory, "two_devices.py", profile="h100-80g,count=2"),
    "out of memory": lambda directory: record_python(directory, "out_of_memory.py", profile="h100-80g,memory=4GiB"),
    "graphs": lambda directory: record_python(directory, "graph_pools.py"),
    "no PyTorch": lambda directory: record(directory, BUILD / "tests" / "workloads" / "driver_client", "2"),
}


@pytest.fixture(scope="session", params=RECORDINGS)
def recording(request, tmp_path_factory):
    made = RECORDINGS[request.param](tmp_path_factory.mktemp("recording"))
    assert made.database.exists(), made.process.stderr
    return made


@pytest.fixture(scope="session")
def training(tmp_path_factory):
    return RECORDINGS["training"](tmp_path_factory.mktemp("training"))


def export(database, format, output, *options, said=""):
    done = vtrace("export", "--format", format, "-o", output, *options, database)
    assert (done.returncode, done.stderr, done.stdout) == (0, said, "")
    return output


def peaks(recording):
    """By device: what the report says of its most allocated bytes, and of its most used."""
    found = {}
    for device in recording.report()["devices"]:
        peak = device["peak"]
        if peak:
            # Without blocks all is allocated but the context and what the driver's pages have beside it.
            allocated = peak["max_allocated_bytes"] or peak["device_used_bytes"] - peak["context_bytes"] - \
                peak["rounding_bytes"] - peak["difference_bytes"]
            found[device["id"]] = {"allocated": allocated, "used": peak["device_used_bytes"]}
    return found


def owned(recording, when, *options):
    """The blocks that are live at a moment and have an owner of device memory."""
    kinds = ("block", "segment", "vmm", "pool", "managed", "array", "graph")
    return [block for block in recording.blocks(when, *options)["blocks"]
            if block["kind"] in kinds and block["owner"] is not None]


@functools.cache
def viewers(name):
    """The folder of scripts/viewers; a machine that cannot have it skips, one of CI must."""
    found = subprocess.run([SOURCE / "scripts" / "viewers", name], capture_output=True, text=True, timeout=TIMEOUT_S)
    if found.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(found.stderr.strip())
    return found.stdout.strip()


def run_viewer(name, script, *arguments):
    """JSON of a script of tests/formats, run by the Python of a set of viewers."""
    done = subprocess.run([f"{viewers(name)}/bin/python", SOURCE / "tests" / "formats" / script, *map(str, arguments)],
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def query_trace(path):
    """What Perfetto's trace processor says of a trace; counters by name."""
    node()
    found = run_viewer("perfetto", "query_trace.py", path)
    assert found["errors"] == []
    found["counters"] = {row["name"]: row for row in found["counters"]}
    return found


def node():
    found = shutil.which("node")
    if not found:
        pytest.skip("no node")
    return found


def load_memory_viz():
    """The wheel's torch/cuda/_memory_viz.py, which needs no torch."""
    import importlib.util
    import pathlib
    path = next(pathlib.Path(folder) / "torch" / "cuda" / "_memory_viz.py" for folder in sys.path
                if (pathlib.Path(folder) / "torch" / "cuda" / "_memory_viz.py").exists())
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
