# SPDX-License-Identifier: MIT
"""One run, recorded by vtrace and by PyTorch at once: what the reports say of the recording and of the snapshot."""
import collections
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

from recording import SOURCE, record, vtrace

HERE = pathlib.Path(__file__).resolve().parent
BOTH = HERE / "both.py"
TESTS = SOURCE / "tests"


@dataclass
class Program:
    name: str
    command: list
    profile: str = "h100-80g"
    env: dict = field(default_factory=dict)
    needs: str = None  # left out where it cannot be imported


PROGRAMS = [
    Program("mlp", ["workloads/train_mlp.py"]),
    Program("gpt", ["workloads/train_gpt.py", "--steps", "3"]),
    Program("gpt, expandable", ["workloads/train_gpt.py", "--steps", "3"],
            env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    Program("convolution", ["workloads/convolution.py"]),
    Program("worn", ["workloads/fragmentation.py", "--steps", "12"]),
    Program("worn, roundup", ["workloads/fragmentation.py", "--steps", "12"],
            env={"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:4,max_split_size_mb:64"}),
    Program("full", ["workloads/out_of_memory.py", "--mib", "1000"]),
    Program("graphs", ["workloads/graph_pools.py"]),
    Program("leak", ["workloads/leaking_loops.py", "losses"]),
    Program("generate", ["workloads/generate.py"], needs="transformers"),
    Program("two devices", ["workloads/two_devices.py"], profile="h100-80g,count=2"),
    Program("lstm", ["diagnosis/programs/lstm.py"]),
    Program("unet", ["diagnosis/programs/unet.py"]),
]


def answer(command, path, *options):
    done = vtrace(command, path, "--json", *options)
    assert done.returncode == 0, f"{command} {path}: {done.stderr}"
    return json.loads(done.stdout)


def block_list(path, device):
    """Blocks of PyTorch's allocator when most was allocated: (address, size) -> owner."""
    found = answer("blocks", path, "--at", "most-allocated", "--device", str(device))["blocks"]
    return {(one["address"], one["size_bytes"]): one["owner"] for one in found if one["kind"] == "block"}


def failures(path):
    return answer("info", path)["counts"]["out_of_memory"]


def leak_list(path):
    found = answer("leaks", path)
    return [(row.get("where"), row.get("bytes_per_iteration")) for row in found["growth"]]


def finding_list(path):
    return collections.Counter(one["id"] for one in answer("report", path)["findings"])


# What findings need that no snapshot has.
NOT_IN_A_SNAPSHOT = {
    "optimizer-states-wide": "types of tensors",
    "graph-unused": "numbers of autograd's nodes",
    "activations-kept": "classes and instances of modules",
}


@dataclass
class Comparison:
    """Figures as (of the recording, of the snapshot)."""
    name: str
    reserved: tuple
    allocated: tuple
    requested: tuple
    blocks: tuple
    same_blocks: int
    cached: tuple
    owners: float  # part of the bytes at the peak whose owner is the same, but for names, which a snapshot has not
    failed: tuple
    growth: tuple
    findings: tuple
    has_native: bool  # C++ frames, without which the backward pass and so steps are not known; 2.0 has none

    @property
    def misses(self):
        """Which of the figures that both can know differ."""
        pairs = ("reserved", "allocated", "blocks", "cached", "failed", *(("growth",) if self.has_native else ()))
        wrong = [name for name in pairs if getattr(self, name)[0] != getattr(self, name)[1]]
        # The recorder does not know the requests of all releases, and has rounded ones there.
        if self.requested[0] < self.requested[1] or (self.has_native and self.requested[0] != self.requested[1]):
            wrong.append("requested")
        if self.same_blocks != self.blocks[0]:
            wrong.append("same blocks")
        recorded, snapshot = self.findings
        lost = (recorded - snapshot).keys() - NOT_IN_A_SNAPSHOT.keys()
        if (lost and self.has_native) or snapshot - recorded:
            wrong.append("findings")
        return wrong


def frag_of(path, device):
    for one in answer("frag", path)["devices"]:
        if one["id"] == device:
            return one
    return None


def cached_of(path, device):
    """Reserved and not allocated when most was allocated: whole segments, beside live blocks, of graphs."""
    for one in answer("report", path, "--at", "most-allocated")["devices"]:
        if one["id"] == device:
            return tuple(one["peak"][key] for key in ("cached_free_segments_bytes", "cached_pinned_bytes",
                                                      "graph_pools_bytes"))
    return None


def compare(name, database, snapshot, device=0):
    blocks = block_list(database, device), block_list(snapshot, device)
    frag = frag_of(database, device), frag_of(snapshot, device)
    both = blocks[0].keys() & blocks[1].keys()
    agreed = sum(key[1] for key in both if blocks[0][key].split("/")[0] == blocks[1][key].split("/")[0])
    total = sum(size for _, size in blocks[0])

    def pair(key):
        return tuple(one[key] if one else 0 for one in frag)

    return Comparison(
        name, pair("peak_reserved_bytes"), pair("peak_allocated_bytes"), pair("lower_bound_bytes"),
        (len(blocks[0]), len(blocks[1])), len(both),
        (cached_of(database, device), cached_of(snapshot, device)),
        agreed / total if total else 1.0,
        (failures(database), failures(snapshot)),
        (leak_list(database), leak_list(snapshot)), (finding_list(database), finding_list(snapshot)),
        not any("no C++ frames" in line for line in answer("report", snapshot)["notes"]))


def run(program, directory, python=sys.executable):
    """Records and compares; one Comparison per device that was used."""
    directory.mkdir()
    snapshot = directory / "run.pickle"
    script, *arguments = program.command
    if program.needs and subprocess.run([python, "-c", f"import {program.needs}"], capture_output=True).returncode:
        return []
    recording = record(directory, python, BOTH, snapshot, TESTS / script, *arguments, profile=program.profile,
                       env=program.env)
    assert snapshot.exists(), recording.process.stdout + recording.process.stderr
    devices = [one["id"] for one in answer("frag", recording.database)["devices"]]
    return [compare(program.name if not device else f"  cuda:{device}", recording.database, snapshot, device)
            for device in devices]
