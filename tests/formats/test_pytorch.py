# SPDX-License-Identifier: MIT
"""`vtrace export --format pytorch`: a snapshot for torch.cuda._memory_viz and pytorch.org/memory_viz."""
import dataclasses
import pickle
import pickletools

import pytest
from exported import export, load_memory_viz, owned, peaks, recording, training  # noqa: F401
from recording import record_python, vtrace

# What the unpickler of PyTorch's MemoryViz.js knows.
VIEWER_OPCODES = {
    "APPENDS", "BINGET", "BININT", "BININT1", "BININT2", "EMPTY_DICT", "EMPTY_LIST", "FRAME", "LONG1", "LONG_BINGET",
    "MARK", "MEMOIZE", "PROTO", "SETITEMS", "SHORT_BINUNICODE", "STOP", "TUPLE2", "APPEND", "NEWFALSE", "BINPUT",
    "BINUNICODE", "EMPTY_TUPLE", "NEWTRUE", "NONE", "BINFLOAT", "TUPLE", "TUPLE1", "TUPLE3", "LONG_BINPUT", "LIST",
    "DICT", "SETITEM"}


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"asks for {module}.{name}")


def load(path):
    with open(path, "rb") as file:
        return Plain(file).load()


def replay(snapshot):
    """Per device the peak and the end of the viewer's timeline: it pairs alloc and free_completed by address."""
    found = {}
    for device, trace in enumerate(snapshot["device_traces"]):
        live, peak = {}, 0
        now = 0
        for event in trace:
            if event["action"] == "alloc":
                assert event["addr"] not in live
                live[event["addr"]] = event["size"]
                now += event["size"]
                peak = max(peak, now)
            elif event["action"] == "free_completed":
                assert live.pop(event["addr"]) == event["size"]
                now -= event["size"]
        found[device] = peak, live
    return found


@pytest.fixture(scope="module")
def memory_viz():
    return load_memory_viz()


@pytest.fixture(scope="module")
def snapshot(recording, tmp_path_factory):  # noqa: F811
    return load(export(recording.database, "pytorch", tmp_path_factory.mktemp("snapshot") / "s.pickle"))


def test_peak_is_ours(recording, snapshot):  # noqa: F811
    assert {device: peak for device, (peak, _) in replay(snapshot).items() if peak} == {
        device: peak["allocated"] for device, peak in peaks(recording).items()}


def test_segments_follow_from_the_trace(snapshot):
    """The viewer plays the trace backwards from the final state: both must say the same."""
    blocks = {}
    for segment in snapshot["segments"]:
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        end = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == end
            end += block["size"]
            if block["state"] == "active_allocated":
                blocks.setdefault(segment["device"], {})[block["address"]] = block["size"]
    assert blocks == {device: live for device, (_, live) in replay(snapshot).items() if live}
    held = {}
    for device, trace in enumerate(snapshot["device_traces"]):
        signs = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
        held[device] = sum(signs.get(event["action"], 0) * event["size"] for event in trace)
    for segment in snapshot["segments"]:
        held[segment["device"]] -= segment["total_size"]
    assert set(held.values()) <= {0}


def test_every_command_of_memory_viz_opens_it(snapshot, memory_viz):
    assert f"segments: {len(snapshot['segments'])}\n" in memory_viz.segsum(snapshot)
    assert "entries" in memory_viz.trace(snapshot)
    for plot in (memory_viz.trace_plot, memory_viz.segment_plot):
        assert "MemoryViz.js" in plot(snapshot)
    for fold in (memory_viz.segments, memory_viz.memory):
        lines = fold(snapshot, format_flamegraph=str.splitlines)
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sum(
            segment["total_size"] for segment in snapshot["segments"])
    assert memory_viz.compare(snapshot["segments"], snapshot["segments"], format_flamegraph=str) == ""


def test_memory_viz_adds_up_to_our_blocks(recording, memory_viz, tmp_path):  # noqa: F811
    snapshot = load(export(recording.database, "pytorch", tmp_path / "s.pickle", "--at", "most-allocated"))
    lines = memory_viz.memory(snapshot, format_flamegraph=str.splitlines)
    active = sum(int(line.rsplit(" ", 1)[1]) for line in lines if ";active_allocated;" in line)
    assert active == sum(block["size_bytes"] for block in owned(recording, "most-allocated"))


def test_categories_are_owners(recording, snapshot):  # noqa: F811
    """The viewer fails where there are categories and "unknown" is none of them."""
    allocs = {(event["addr"], event["size"]): event for trace in snapshot["device_traces"] for event in trace
              if event["action"] == "alloc"}
    assert all(event["category"] == event["user_metadata"].split("/")[0] for event in allocs.values())
    categories = {event["category"] for trace in snapshot["device_traces"] for event in trace if "category" in event}
    assert "unknown" in categories
    at_end = owned(recording, "end")
    assert [allocs[block["address"], block["size_bytes"]]["user_metadata"] for block in at_end] == [
        block["owner"] for block in at_end]


def test_only_what_the_browser_can_read(recording, tmp_path):  # noqa: F811
    data = export(recording.database, "pytorch", tmp_path / "s.pickle").read_bytes()
    depth, marks, largest = 0, [], 0
    for opcode, _, _ in pickletools.genops(data):
        assert opcode.name in VIEWER_OPCODES
        if opcode.name == "MARK":
            marks.append(depth)
        elif opcode.name in ("APPENDS", "SETITEMS"):
            largest = max(largest, depth - marks[-1])
            depth = marks.pop()
        else:
            depth += len(opcode.stack_after) - len(opcode.stack_before)
    assert 2 <= data[1] <= 4 and 0 < largest <= 1000


def test_backward_blocks_name_their_forward_lines(training, tmp_path):  # noqa: F811
    snapshot = load(export(training.database, "pytorch", tmp_path / "s.pickle"))
    forward = [event for event in snapshot["device_traces"][0] if "forward_frames" in event]
    assert forward and all(event["action"] == "alloc" for event in forward)
    assert all(line.startswith("  File ") and line.endswith("\n") for event in forward
               for line in event["forward_frames"])
    assert any("GPT.forward" in line for event in forward for line in event["forward_frames"])


def test_steps_and_ranges_are_annotations(training, tmp_path):  # noqa: F811
    snapshot = load(export(training.database, "pytorch", tmp_path / "s.pickle"))
    annotations = snapshot["external_annotations"]
    names = [row["name"] for row in annotations if row["stage"] == "START"]
    assert [name for name in names if name.startswith("step ")] == ["step 1", "step 2"]
    assert "Optimizer.step#AdamW.step" in names
    times = [row["time_us"] for row in annotations]
    assert times == sorted(times)
    events = [event["time_us"] for event in snapshot["device_traces"][0]]
    assert min(events) <= times[0] and times[-1] <= max(events)


@pytest.mark.parametrize("settings", ("", "expandable_segments:True"))
def test_as_pytorch_wrote_it_itself(settings, tmp_path):
    """The snapshot of the same moment of the same run: the same segments, blocks, requests, and events in order."""
    made = record_python(tmp_path, "snapshot_training.py", tmp_path / "own.pickle",
                         env={"PYTORCH_CUDA_ALLOC_CONF": settings})
    assert made.process.returncode == 0, made.process.stderr
    own = load(tmp_path / "own.pickle")
    ours = load(export(made.database, "pytorch", tmp_path / "ours.pickle", "--at", "mark:dumped"))

    def segment(row):
        blocks = [{key: block[key] for key in ("address", "size", "state")} |
                  ({"requested_size": block["requested_size"]} if block["state"] == "active_allocated" else {})
                  for block in row["blocks"]]
        return {key: row[key] for key in ("device", "total_size", "allocated_size", "active_size", "requested_size",
                                          "stream", "segment_type", "segment_pool_id", "is_expandable")}, blocks

    def segments(snapshot):
        return {row["address"]: segment(row) for row in snapshot["segments"]}

    def events(snapshot):
        return [(event["action"], event["addr"]) + ((event["size"],) if event["action"].startswith("segment") else ())
                for event in snapshot["device_traces"][0] if event["action"] in ("alloc", "free_completed")
                or event["action"].startswith("segment_")]

    def requests(snapshot):
        return [event.get("requested_size") for event in snapshot["device_traces"][0] if event["action"] == "alloc"]

    assert segments(ours) == segments(own)
    assert events(ours) == events(own)
    asked = [event["size"] for event in own["device_traces"][0] if event["action"] == "alloc"]
    known = [(mine, theirs) for mine, theirs in zip(requests(ours), asked) if mine is not None]
    assert known and all(mine == theirs for mine, theirs in known)
    assert replay(ours)[0][0] == int(made.process.stdout)
    stacks = [[[(frame["name"].split(".")[-1], frame["line"]) for frame in event["frames"]]
               for event in snapshot["device_traces"][0] if event["action"] == "alloc"] for snapshot in (ours, own)]
    # Of blocks that no Python asked for (the backward pass) ours have native frames, PyTorch's none.
    assert [mine for mine, theirs in zip(*stacks) if theirs] == [theirs for theirs in stacks[1] if theirs]


def test_one_device_of_two(tmp_path):
    made = record_python(tmp_path, "two_devices.py", profile="h100-80g,count=2")
    snapshot = load(export(made.database, "pytorch", tmp_path / "s.pickle", "--device", "1"))
    assert {segment["device"] for segment in snapshot["segments"]} == {1}
    assert [len(trace) > 0 for trace in snapshot["device_traces"]] == [False, True]


def test_a_folder_is_refused(training, tmp_path):  # noqa: F811
    done = vtrace("export", "--format", "pytorch", "-o", tmp_path / "s.pickle", training.directory)
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "s.pickle").exists()


def test_there_and_back(recording, tmp_path):  # noqa: F811
    """What `vtrace import` makes of it has the same device memory at its peaks and at the end.

    Owners are the recording's, with the names behind them. A snapshot does not say which freed segments were a
    graph's, nor what another allocator rounds to.
    """
    if not recording.value("SELECT count(*) FROM allocation WHERE kind = 1"):
        pytest.skip("none of it is of PyTorch's allocator")
    path = export(recording.database, "pytorch", tmp_path / "s.pickle")
    done = vtrace("import", path, "-o", tmp_path / "back.db")
    assert done.returncode == 0, done.stderr
    back = dataclasses.replace(recording, database=tmp_path / "back.db")

    def figures(made):
        return {device["id"]: [device["peak"][key] for key in (
            "max_allocated_bytes", "reserved_bytes", "allocated_bytes")] + [
                device["peak"]["cached_bytes"] + device["peak"]["graph_pools_bytes"]]
            for device in made.report()["devices"] if device["peak"]}

    def blocks(made, when):
        return sorted((block["device"], block["address"], block["size_bytes"], block["owner"])
                      for block in owned(made, when))

    assert figures(back) == figures(recording)
    for when in ("most-allocated", "end"):
        assert blocks(back, when) == blocks(recording, when)
