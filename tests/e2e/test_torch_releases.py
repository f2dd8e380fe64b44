# SPDX-License-Identifier: MIT
"""Releases of PyTorch before the one that the other tests run with; scripts/torch-venv VERSION makes each."""
import json
import re
import subprocess

import pytest

from recording import BUILD, MARKERS, SOURCE, WORKLOADS, clean_environment, record

MIB = 1 << 20


def python_with(version):
    done = subprocess.run([str(SOURCE / "scripts" / "torch-venv"), "--cached", version], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """PyTorch 2.0 of CUDA 11.7: the oldest release with reports of today's form, and the runtime before 12."""
    directory = tmp_path_factory.mktemp("training")
    recording = record(directory, python_with("2.0.1"), WORKLOADS / "training_stats.py", profile="a100-80g")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def test_blocks_of_an_old_release_are_its_allocator_s(training):
    stats = json.loads(training.process.stdout)
    blocks = training.query("SELECT count(*), sum(size_bytes), count(freed_event), max(reserved_bytes) FROM allocation"
                            " WHERE kind = (SELECT id FROM memory_kind WHERE name = 'block')")
    # What the interpreter still frees at its end is counted by us alone.
    allocated, allocated_bytes, freed, reserved = blocks[0]
    assert allocated == stats["allocation.all.allocated"] > 50
    assert allocated_bytes == stats["allocated_bytes.all.allocated"]
    assert stats["allocation.all.freed"] <= freed
    assert reserved == stats["reserved_bytes.all.peak"]
    assert training.report()["devices"][0]["peak"]["difference_bytes"] == 0


def test_driver_s_events_of_an_old_release_are_the_ledger_s(training):
    events = training.query(f"SELECT op, kind, size_bytes, function FROM driver_event WHERE op NOT IN {MARKERS}")
    ledger = [(line.op, line.kind, line.size, line.function) for line in training.read_ledger().recorded]
    names = {"device": "segment", "host": "pinned", "registered": "pinned"}
    assert events == [(op, names.get(kind, kind), size, function) for op, kind, size, function in ledger]


def test_blocks_of_an_old_release_have_owners_and_forward_stacks(training):
    peak = training.report()["devices"][0]["peak"]
    owners = {o["owner"] for o in peak["owners"] if o["blocks"]}
    assert {"weights", "gradients", "optimizer"} <= owners, owners
    assert training.value("SELECT count(*) FROM allocation WHERE forward_python_stack IS NOT NULL") > 0


# c10::reportMemoryUsageToProfiler and c10::reportOutOfMemoryToProfiler with signed totals.
OLD_NAMES = {"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
             "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"}


def bound_to_the_recorder(errors):
    """(library, name) of the old names that the dynamic loader bound to the recorder, by its own account."""
    found = re.findall(r"binding file \S*/(\S+) \[0\] to (\S+) \[0\]: normal symbol `(\w+)'", errors)
    return {(caller, name) for caller, target, name in found
            if name in OLD_NAMES and target == str(BUILD / "libvtrace.so")}


def test_reports_by_their_old_names_pass_through_the_recorder(tmp_path):
    """PyTorch 1.13. Its CUDA half carries NVIDIA's runtime within itself and sees no device here: so on the host."""
    python = python_with("1.13.1")
    program = [python, WORKLOADS / "old_reports.py"]
    without = subprocess.run([SOURCE / "tests" / "simulator" / "sim-run", BUILD, "h100-80g", *program],
                             capture_output=True, text=True, env=clean_environment())
    assert without.returncode == 0, without.stderr
    recording = record(tmp_path, *program, env={"LD_DEBUG": "bindings"})
    assert recording.process.returncode == 0
    assert json.loads(recording.process.stdout) == json.loads(without.stdout)
    # Allocations through the function, and the frees of the same bytes.
    assert [size for name, size in json.loads(without.stdout)["reported"] if name == "[memory]"] == [-3 * MIB] * 2
    bound = bound_to_the_recorder(recording.process.stderr)
    assert {("libc10.so", name) for name in OLD_NAMES} <= bound
    assert {("libc10_cuda.so", name) for name in OLD_NAMES} <= bound
    assert [block["size_bytes"] for block in recording.blocks("end")["blocks"]] == [20 * MIB]
