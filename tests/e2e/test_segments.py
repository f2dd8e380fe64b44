# SPDX-License-Identifier: MIT
"""What is reserved and in nobody's hands: free segments, free pieces, pools of CUDA graphs; and the books."""
import json

import pytest

from recording import MARKERS, record_python, vtrace

# What a driver keeps of an executable graph is in no call.
NOTHING_UNSEEN = "h100-80g,graph_node=0MiB"
PROGRAMS = {
    "graph": ("graph_pools.py", NOTHING_UNSEEN, {}),
    "expandable": ("graph_pools.py", NOTHING_UNSEEN, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    "two devices": ("two_devices.py", "h100-80g,count=2", {}),
}


def quick(names, *some):
    return [name if name in some else pytest.param(name, marks=pytest.mark.full) for name in names]


def record_program(directory, name):
    script, profile, env = PROGRAMS[name]
    recording = record_python(directory, script, profile=profile, env=env)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


@pytest.fixture(scope="module", params=["graph", "expandable"])
def graphed(request, tmp_path_factory):
    return record_program(tmp_path_factory.mktemp("graphed"), request.param)


def said(recording):
    """What PyTorch itself said at each mark."""
    lines = [json.loads(line) for line in recording.process.stdout.splitlines() if line.startswith("{")]
    return {line["mark"]: line for line in lines}


def at(recording, when, device=0):
    report = recording.report("--at", when, "--top", "0")
    return next(d["peak"] for d in report["devices"] if d["id"] == device)


def rest(peak, parent):
    return {o["owner"]: o["bytes"] for o in peak["owners"] if o["owner"].startswith(parent + "/")}


def test_idle_bytes_of_private_pools_are_pytorchs(graphed):
    figures = said(graphed)
    for name, figure in figures.items():
        peak = at(graphed, f"mark:{name}")
        assert (peak["reserved_bytes"], peak["allocated_bytes"]) == (figure["reserved"], figure["allocated"])
        assert peak["cached_bytes"] + peak["graph_pools_bytes"] == figure["reserved"] - figure["allocated"]
        assert peak["cached_bytes"] == peak["cached_free_segments_bytes"] + peak["cached_pinned_bytes"]
        assert peak["graph_pools_bytes"] == sum(rest(peak, "graph pools").values())
        # A pool whose last graph is gone is cached memory: PyTorch gives it back with the next empty_cache.
        kept = figures["graphed"] if name in ("reset", "given back") else figure
        assert peak["graph_pools_bytes"] == kept["private_idle"], name


def test_three_captures_have_a_pool_each(graphed):
    assert [name.split("/")[1] for name in rest(at(graphed, "mark:captured"), "graph pools")] == ["1", "2", "3"]
    assert [name.split("/")[1] for name in rest(at(graphed, "mark:reset"), "graph pools")] == ["1", "2"]


def test_empty_cache_gives_back_the_free_segments_and_nothing_else(graphed):
    figures = said(graphed)
    for before, after in (("captured", "emptied"), ("reset", "given back")):
        returned = figures[before]["reserved"] - figures[after]["reserved"]
        assert at(graphed, f"mark:{before}")["cached_free_segments_bytes"] == returned
    assert figures["reset"]["reserved"] > figures["given back"]["reserved"]


def test_blocks_and_what_is_left_of_a_segment_are_the_segment(graphed):
    entries = graphed.blocks("mark:captured", "--segments")["blocks"]
    segments = [b for b in entries if b["kind"] in ("segment", "vmm")]
    blocks = [b for b in entries if b["kind"] == "block"]
    peak = at(graphed, "mark:captured")
    left = peak["cached_bytes"] + peak["graph_pools_bytes"]
    assert sum(s["size_bytes"] for s in segments) == peak["reserved_bytes"]
    assert sum(b["size_bytes"] for b in blocks) + left == peak["reserved_bytes"]


def uses_after(ledger):
    """Device and its use after each recorded call; the end of a handle is a line of its own, behind the call's."""
    uses = []
    for line in ledger.lines:
        if line.is_recorded:
            uses.append((line.device, line.used))
        elif uses and line.device == uses[-1][0]:
            uses[-1] = (line.device, line.used)
    return uses


# A report each: at eight moments in every run, at all of them in the full lane.
@pytest.mark.parametrize("most", [8, pytest.param(None, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", quick(PROGRAMS, "graph", "two devices"))
def test_the_books_close_at_driver_events(name, most, tmp_path):
    recording = record_program(tmp_path, name)
    events = recording.query(f"SELECT event FROM driver_event WHERE op NOT IN {MARKERS} ORDER BY event")
    lines = uses_after(recording.read_ledger())
    assert len(events) == len(lines) > 10
    checked = set()
    pairs = [(event, device, used) for (event,), (device, used) in zip(events, lines) if device >= 0]
    stride = max(1, len(pairs) // most) if most else 1
    for event, device, used in pairs[::stride]:
        peak = at(recording, f"event:{event}", device)
        assert peak["difference_bytes"] == 0
        assert sum(o["bytes"] for o in peak["owners"]) == peak["device_used_bytes"] == used, event
        checked.add(device)
    assert checked == ({0, 1} if name == "two devices" else {0})


DRIVER_ALONE = {"async": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
                "uncached": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}}


@pytest.mark.parametrize("settings", quick(DRIVER_ALONE, "async"))
def test_without_blocks_only_pools_cache(settings, tmp_path):
    """What the driver rounds up is told by no event: the ledger's use is another figure there."""
    recording = record_python(tmp_path, "train_mlp.py", env=DRIVER_ALONE[settings])
    assert recording.process.returncode == 0, recording.process.stderr
    events = [event for event, in recording.query("SELECT id FROM allocation WHERE device = 0 ORDER BY id")]
    uses = [line.used for line in recording.read_ledger().lines if line.op == "alloc" and line.device == 0]
    assert len(events) == len(uses) > 50
    for event, used in list(zip(events, uses))[::25]:
        peak = at(recording, f"event:{event}")
        assert peak["difference_bytes"] == peak["graph_pools_bytes"] == 0
        assert peak["cached_bytes"] == peak["cached_pool_bytes"]
        assert (peak["cached_bytes"] > 0) == (settings == "async")
        assert settings != "async" or peak["device_used_bytes"] == used
        assert sum(o["bytes"] for o in peak["owners"]) == peak["device_used_bytes"]
        assert sum(o["bytes"] for o in peak["owners"] if o["blocks"]) == recording.value(
            "SELECT sum(size_bytes) FROM live_at WHERE at_event = ? AND kind IN (2, 4) AND device = 0", event)
    said = vtrace("report", recording.database).stdout
    assert ("cached, not in use (pool)" in said) == (settings == "async")
    assert "stream-ordered memory" not in said
