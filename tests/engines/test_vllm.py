# SPDX-License-Identifier: MIT
"""Unmodified vLLM on the simulated card: it starts, sizes its cache and serves, and its memory has the right owners."""
import json
import pathlib
import re
import subprocess

import pytest

from recording import SOURCE, record, vtrace

pytestmark = pytest.mark.full
HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "models" / "llama-4-layers"
LEAST_SHARE = 0.99


def find_python():
    done = subprocess.run([SOURCE / "scripts" / "engine-venv", "--cached", "vllm"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no vllm in the cache; scripts/engine-venv vllm makes it")
    return done.stdout.strip()


@pytest.fixture(scope="module", params=("eager", "graphs"))
def served(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    recording = record(folder, find_python(), HERE / "serve_offline.py", MODEL, folder / "truth.json", request.param,
                       profile="l4-24g", env={"HOME": str(folder), "VLLM_NO_USAGE_STATS": "1"})
    assert recording.process.returncode == 0, recording.process.stderr[-4000:]
    return recording, json.loads((folder / "truth.json").read_text())


def test_every_prompt_is_answered(served):
    assert "served 8 prompts, {16} tokens each" in served[0].process.stdout


def test_the_cache_takes_what_the_engine_says(served):
    output = served[0].process.stdout + served[0].process.stderr
    said = float(re.search(r"Available KV cache memory: ([\d.]+) GiB", output).group(1))
    owners = {row["owner"]: row["bytes"] for row in served[0].report()["devices"][0]["peak"]["owners"]}
    assert owners["kv cache"] / (1 << 30) == pytest.approx(said, abs=0.02)


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
