# SPDX-License-Identifier: MIT
"""Unmodified vLLM on the simulated card: it starts, sizes its cache and serves, and its memory has the right owners."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from recording import SOURCE, Recording, record, vtrace

pytestmark = pytest.mark.full
HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "models" / "llama-4-layers"
LEAST_SHARE = 0.99
PROGRAMS = {"eager": ("serve_offline.py", "eager"), "graphs": ("serve_offline.py", "graphs"),
            "http": ("serve_http.py",)}


def find_python():
    done = subprocess.run([SOURCE / "scripts" / "engine-venv", "--cached", "vllm"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no vllm in the cache; scripts/engine-venv vllm makes it")
    return done.stdout.strip()


def start(folder, program, *arguments):
    """Of the processes that were recorded, the one that has most on the device: the engine's."""
    model = folder / "model"
    shutil.copytree(MODEL, model)
    recording = record(folder, find_python(), HERE / program, model, folder / "truth.json", *arguments,
                       profile="l4-24g", env={"HOME": str(folder), "VLLM_NO_USAGE_STATS": "1"})
    assert recording.process.returncode == 0, recording.process.stderr[-4000:]
    recordings = [Recording(folder, path, recording.ledger, recording.process) for path in folder.glob("run*.db")]
    return max(recordings, key=device_used)


def device_used(recording):
    devices = recording.report()["devices"]
    return max((device["peak"]["device_used_bytes"] for device in devices if device["peak"]), default=0)


@pytest.fixture(scope="module", params=PROGRAMS)
def served(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    recording = start(folder, *PROGRAMS[request.param])
    return recording, json.loads((folder / "truth.json").read_text())


def cache_bytes(recording):
    """As the engine says, in its log."""
    output = recording.process.stdout + recording.process.stderr
    return float(re.search(r"Available KV cache memory: ([\d.]+) GiB", output).group(1)) * (1 << 30)


def test_every_prompt_is_answered(served):
    assert "served 8 prompts, {16} tokens each" in served[0].process.stdout


def test_the_cache_takes_what_the_engine_says(served):
    owners = {row["owner"]: row["bytes"] for row in served[0].report()["devices"][0]["peak"]["owners"]}
    assert owners["kv cache"] == pytest.approx(cache_bytes(served[0]), abs=0.02 * (1 << 30))


def test_what_the_engine_owns_has_the_right_owner(served):
    recording, truth = served
    blocks = json.loads(vtrace("blocks", recording.database, "--at", "peak", "--json").stdout)["blocks"]
    total = right = 0
    for owner, places in truth.items():
        for address, size in places:
            total += size
            right += size if owner in owners_at(blocks, address) else 0
    named = sum(b["size_bytes"] for b in blocks if top(b["owner"]) in truth)
    print(f"{right / total:.2%} of {total / (1 << 30):.2f} GiB; named so by vtrace: {named / (1 << 30):.2f} GiB")
    assert right >= LEAST_SHARE * total
    assert named <= total / LEAST_SHARE


def top(owner):
    return owner.split("/")[0]


def owners_at(blocks, address):
    return {top(b["owner"]) for b in blocks if b["address"] <= address < b["address"] + b["size_bytes"]}


@pytest.mark.parametrize("finding, flag, large, small", (
    ("trial-of-requests", "--max-num-seqs", {"max_num_seqs": 1024}, {"max_num_seqs": 256}),
    ("trial-of-tokens", "--max-num-batched-tokens", {"max_num_batched_tokens": 16384, "max_num_seqs": 16},
     {"max_num_batched_tokens": 8192, "max_num_seqs": 16})))
def test_the_cache_grows_by_what_a_finding_says(finding, flag, large, small, tmp_path):
    """Started again with what the finding names; within what findings of programs are held to (tests/diagnosis)."""
    recordings = []
    for name, options in (("large", large), ("small", small)):
        (tmp_path / name).mkdir()
        recordings.append(start(tmp_path / name, "serve_offline.py", "eager", json.dumps(options)))
    found = next(f for f in recordings[0].report()["findings"] if f["id"] == finding)
    assert found["fix"].startswith(flag) and found["is_for_cache"]
    grown = cache_bytes(recordings[1]) - cache_bytes(recordings[0])
    print(f"{finding}: foretold {found['saves_bytes'] / (1 << 30):.3f} GiB, grown by {grown / (1 << 30):.2f} GiB")
    assert found["saves_bytes"] == pytest.approx(grown, rel=0.05)
