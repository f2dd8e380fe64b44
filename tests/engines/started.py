# SPDX-License-Identifier: MIT
"""What the tests of engines share: an engine started under vtrace, and its memory against what its objects say."""
import json
import pathlib
import shutil
import subprocess

import pytest

from recording import SOURCE, Recording, record, vtrace

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "models" / "llama-4-layers"
LEAST_SHARE = 0.99


def find_python(*engine):
    """Of an engine's newest release in the cache, or of one that is named."""
    done = subprocess.run([SOURCE / "scripts" / "engine-venv", "--cached", *engine], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no {' '.join(engine)} in the cache; scripts/engine-venv {' '.join(engine)} makes it")
    return done.stdout.strip()


def start_ranks(folder, python, program, *arguments, env=None, profile="l4-24g"):
    """The processes that have memory on a device, one for each device, in the devices' order."""
    model = folder / "model"
    shutil.copytree(MODEL, model)
    recording = record(folder, python, HERE / program, model, folder / "truth.json", *arguments, profile=profile,
                       env={"HOME": str(folder), **(env or {})})
    assert recording.process.returncode == 0, recording.process.stderr[-4000:]
    ranks = {}
    for path in folder.glob("run*.db"):
        one = Recording(folder, path, recording.ledger, recording.process)
        device = fullest(one)
        if device and (device["id"] not in ranks or used_bytes(device) > used_bytes(fullest(ranks[device["id"]]))):
            ranks[device["id"]] = one
    return [ranks[device] for device in sorted(ranks)]


def start(*arguments, **keywords):
    """Of an engine on one device: the process that has most there."""
    rank, = start_ranks(*arguments, **keywords)
    return rank


def used_bytes(device):
    return device["peak"]["device_used_bytes"]


def fullest(recording):
    return max((device for device in recording.report()["devices"] if device["peak"]), key=used_bytes, default=None)


def owned_bytes(recording, owner):
    rows = fullest(recording)["peak"]["owners"]
    return next(row["bytes"] for row in rows if row["owner"] == owner)


def check_owners(recording, truth):
    """Of what the engine's objects have nearly every byte has its owner, and nearly nothing else is called so."""
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
