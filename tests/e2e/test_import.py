# SPDX-License-Identifier: MIT
"""`vtrace import`, and commands that are given a memory snapshot of PyTorch in the place of a recording."""
import gzip
import json
import os
import pickle
import sqlite3
import zipfile

import pytest

import snapshots
from recording import vtrace
from snapshots import MIB, SEGMENT, block, entry, frame, free, segment
from unprivileged import locked_folder, public_folder, vtrace_as_nobody


def write(path, snapshot, protocol=4):
    path.write_bytes(pickle.dumps(snapshot, protocol=protocol))
    return path


def report(path):
    done = vtrace("report", path, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def peak(path, device=0):
    return report(path)["devices"][device]["peak"]


def refused(done, *words):
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.fixture
def small(tmp_path):
    return write(tmp_path / "small.pickle", snapshots.small())


def test_the_database_is_beside_the_snapshot(small, tmp_path):
    done = vtrace("import", small)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'small.db'}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.db", "small.pickle"]
    assert peak(tmp_path / "small.db") == peak(small)


def test_figures(small):
    answer = report(small)
    found = answer["devices"][0]["peak"]
    assert (found["device_used_bytes"], found["allocated_bytes"]) == (20 * MIB, 12 * MIB)
    assert found["allocated_requested_bytes"] == 12 * MIB - 100
    assert answer["run"]["ended"] == "snapshot"
    assert any("PyTorch snapshot" in line for line in answer["notes"])


@pytest.mark.parametrize("protocol", range(6))
def test_protocols(protocol, small, tmp_path):
    other = write(tmp_path / "other.pickle", snapshots.small(), protocol)
    assert peak(other) == peak(small)


def test_compressed(small, tmp_path):
    data = small.read_bytes()
    packed = tmp_path / "small.pickle.gz"
    packed.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))
    assert peak(packed) == peak(small)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "small.zip", "w", method) as archive:
            archive.writestr("archive/version", "3")
            archive.writestr("archive/data.pkl", data)
        assert peak(tmp_path / "small.zip") == peak(small)
    done = vtrace("import", packed, "-o", tmp_path / "other.db")
    assert done.stdout == f"{tmp_path / 'other.db'}\n"


@pytest.mark.parametrize("command", ("report", "oom", "frag", "blocks", "leaks", "whatif", "info", "html"))
def test_commands_take_it(command, small):
    done = vtrace(command, small)
    assert done.returncode == 0 or (command == "oom" and "no failed request" in done.stdout + done.stderr), done.stderr


def test_diff_of_two(small, tmp_path):
    other = snapshots.small()
    other["device_traces"][0][1]["size"] = 2 * MIB
    done = vtrace("diff", small, write(tmp_path / "other.pickle", other))
    assert done.returncode == 0, done.stderr


def test_without_a_trace(small, tmp_path):
    snapshot = snapshots.small()
    snapshot["device_traces"] = [[]]
    path = write(tmp_path / "state.pickle", snapshot)
    answer = report(path)
    assert answer["devices"][0]["peak"]["allocated_bytes"] == 4 * MIB
    assert any("without a trace" in line for line in answer["notes"])
    # What torch.cuda.memory_snapshot() returns.
    path = write(tmp_path / "segments.pickle", snapshot["segments"])
    assert report(path)["devices"][0]["peak"]["allocated_bytes"] == 4 * MIB


def test_the_form_of_early_releases(small, tmp_path):
    """1.13 and 2.0: no time, blocks without addresses, requests and stacks in a history (from PyTorch's sources)."""
    snapshot = snapshots.small()
    for one in snapshot["segments"]:
        del one["is_expandable"], one["segment_pool_id"], one["frames"]
        for old in one["blocks"]:
            old["history"] = [{"addr": old.pop("address"), "real_size": old.pop("requested_size"),
                               "frames": old.pop("frames")}]
    for one in snapshot["device_traces"][0]:
        del one["time_us"]
    early = {key: snapshot[key] for key in ("segments", "device_traces")}
    found, expected = peak(write(tmp_path / "early.pickle", early, 2)), peak(small)
    for key in ("event", "device_used_bytes", "allocated_bytes", "allocated_requested_bytes", "cached_pinned_bytes"):
        assert found[key] == expected[key]
    early["device_traces"] = []
    assert peak(write(tmp_path / "state.pickle", early, 2))["allocated_bytes"] == 4 * MIB
    blocks = json.loads(vtrace("blocks", tmp_path / "state.pickle", "--json").stdout)["blocks"]
    assert [one["python"][0] for one in blocks] == ["train.py:3 main"]


def test_a_cut_trace(tmp_path):
    """max_entries left the end alone: what it frees was there before, and so was what stays to the end."""
    snapshot = snapshots.small()
    del snapshot["device_traces"][0][:3]
    answer = report(write(tmp_path / "cut.pickle", snapshot))
    assert answer["devices"][0]["peak"]["allocated_bytes"] == 12 * MIB
    assert answer["devices"][0]["peak"]["device_used_bytes"] == 20 * MIB
    assert any("begins with 2 blocks" in line for line in answer["notes"])


def test_an_unsplit_rest_is_part_of_the_block(tmp_path):
    """A large block of which less than 1 MiB would be left is not split; the next block of the segment ends it."""
    made = [entry("alloc", SEGMENT, 12 * MIB, 2), entry("alloc", SEGMENT + 12 * MIB, 8 * MIB - 4096, 3)]
    gone = free(made[0], 4) + [entry("alloc", SEGMENT, 12 * MIB - 4096, 5)]
    snapshot = {"segments": [segment(SEGMENT, [block(SEGMENT, 12 * MIB), block(SEGMENT + 12 * MIB, 8 * MIB)])],
                "device_traces": [[entry("segment_alloc", SEGMENT, 20 * MIB, 1), *made, *gone]]}
    path = write(tmp_path / "unsplit.pickle", snapshot)
    blocks = json.loads(vtrace("blocks", path, "--json", "--at", "end").stdout)["blocks"]
    assert sorted(one["size_bytes"] for one in blocks) == [8 * MIB, 12 * MIB]


def test_frames_of_modules_and_of_autograd(tmp_path):
    """What is called by a module's __call__ is its forward; the apply() of a C++ node is the backward pass."""
    call = frame(1776, "_call_impl", "/x/torch/nn/modules/module.py")
    node = frame(0, "torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)", "Functions.cpp")
    forward = [frame(0, "at::_ops::addmm::call(at::Tensor const&)", "??"), frame(8, "forward"), call, frame(20)]
    trace = [entry("segment_alloc", SEGMENT, 20 * MIB, 1), entry("alloc", SEGMENT, 4 * MIB, 2, forward),
             entry("alloc", SEGMENT + 4 * MIB, 2 * MIB, 3, [node])]
    snapshot = {"segments": [], "device_traces": [trace],
                "external_annotations": [{"stage": "START", "name": "Optimizer.step#SGD.step", "time_us": 4},
                                         {"stage": "END", "name": "Optimizer.step#SGD.step", "time_us": 9}]}
    trace.append(entry("alloc", SEGMENT + 6 * MIB, 2 * MIB, 5, [frame(30)]))
    path = write(tmp_path / "stages.pickle", snapshot)
    blocks = json.loads(vtrace("blocks", path, "--json", "--at", "end").stdout)["blocks"]
    assert {one["address"] - SEGMENT: one["stage"] for one in blocks} == {
        0: "forward", 4 * MIB: "backward", 6 * MIB: "optimizer"}
    assert not any("unwind" in line for one in blocks for line in one["native"])


def test_expandable_segments(tmp_path):
    trace = [entry("segment_map", SEGMENT, 40 * MIB, 1), entry("alloc", SEGMENT, 30 * MIB, 2)]
    trace += free(trace[1], 3) + [entry("segment_unmap", SEGMENT + 20 * MIB, 20 * MIB, 4)]
    snapshot = {"segments": [segment(SEGMENT, [block(SEGMENT, 20 * MIB, "inactive")], is_expandable=True)],
                "device_traces": [trace]}
    path = write(tmp_path / "expandable.pickle", snapshot)
    assert peak(path)["device_used_bytes"] == 40 * MIB
    done = json.loads(vtrace("frag", path, "--json", "--at", "end").stdout)
    assert done["devices"][0]["samples"][-1]["reserved_bytes"] == 20 * MIB


def test_devices_and_failed_requests(tmp_path):
    snapshot = snapshots.small()
    snapshot["device_traces"].append([entry("segment_alloc", SEGMENT, 2 * MIB, 15),
                                      entry("alloc", SEGMENT, 1000, 16, [frame(5)]),
                                      entry("oom", 0, 64 * MIB, 17, [frame(6)], device_free=MIB)])
    path = write(tmp_path / "two.pickle", snapshot)
    devices = report(path)["devices"]
    assert [one["peak"]["device_used_bytes"] for one in devices] == [20 * MIB, 2 * MIB]
    done = vtrace("oom", path)
    assert done.returncode == 0 and "64.00 MiB" in done.stdout and "train.py:6" in done.stdout, done.stdout
    # The device's size is not known: that is no reason for another setting to fail.
    assert "expandable_segments:True" in done.stdout and "fails earlier" not in done.stdout, done.stdout


def test_an_existing_file_is_kept(small, tmp_path):
    output = tmp_path / "small.db"
    output.write_text("mine")
    refused(vtrace("import", small), "small.db", "not a vtrace database; --force only overwrites recordings")
    refused(vtrace("import", "--force", small), "small.db", "not a vtrace database")
    assert output.read_text() == "mine"
    output.unlink()
    assert vtrace("import", small).returncode == 0
    refused(vtrace("import", small), "small.db", "already exists (use --force to overwrite)")
    assert vtrace("import", "--force", small).returncode == 0
    assert peak(output) == peak(small)


def test_no_permission():
    with public_folder() as folder:
        path = write(folder / "small.pickle", snapshots.small())
        locked = locked_folder(folder)
        refused(vtrace_as_nobody("import", path, "-o", locked / "out.db"), "locked", "Permission denied")
        assert list(locked.iterdir()) == []
        assert vtrace_as_nobody("import", path, "-o", folder / "out.db").returncode == 0


def test_a_missing_folder(small, tmp_path):
    refused(vtrace("import", small, "-o", tmp_path / "absent" / "out.db"), "No such file or directory")
    refused(vtrace("import", tmp_path / "absent.pickle"), "absent.pickle: No such file or directory")


class Malice:
    def __reduce__(self):
        return os.system, ("true",)


BAD = {
    "text": (b"once upon a time\n", ["neither a recording nor a PyTorch snapshot"]),
    "empty": (b"", ["empty"]),
    "code": (pickle.dumps({"segments": Malice()}, protocol=4), ["STACK_GLOBAL at byte"]),
    "old code": (pickle.dumps({"segments": Malice()}, protocol=2), ["GLOBAL at byte"]),
    "bytes": (pickle.dumps({"segments": b"x"}, protocol=4), ["SHORT_BINBYTES at byte"]),
    "another thing": (pickle.dumps({"weights": [1, 2]}), ["neither \"segments\" nor \"device_traces\""]),
    "a number": (pickle.dumps(7), ["it is not a dict"]),
    "a trace of numbers": (pickle.dumps({"device_traces": [[1]]}), ["device_traces[0][0] is not a dict"]),
    "a negative size": (pickle.dumps({"device_traces": [[entry("alloc", 4096, -1)]]}), ["device_traces[0][0]"]),
    "half": (pickle.dumps(snapshots.small())[:300], ["truncated"]),
    "half of gzip": (gzip.compress(pickle.dumps(snapshots.small()))[:200], ["truncated"]),
    "no more than gzip": (gzip.compress(b"once upon a time"), ["neither a recording nor a PyTorch snapshot"]),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_snapshot(name, tmp_path):
    data, words = BAD[name]
    path = tmp_path / "bad.pickle"
    path.write_bytes(data)
    for command in ("import", "report"):
        refused(vtrace(command, path), "bad.pickle", *words)
    assert [one.name for one in tmp_path.iterdir()] == ["bad.pickle"]


def test_several_files_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.pickle", b"")
        archive.writestr("b.pickle", b"")
    refused(vtrace("import", tmp_path / "two.zip"), "holds several files")


def test_wrong_usage(small):
    for arguments in ((), (small, small), ("--wrong", small)):
        assert vtrace("import", *arguments).returncode == 2


def test_neither_the_snapshot_nor_a_recording_is_replaced(small, tmp_path):
    before = small.read_bytes()
    refused(vtrace("import", "--force", "-o", small, small), "is the snapshot; --force does not overwrite it")
    assert small.read_bytes() == before
    assert vtrace("import", small).returncode == 0
    refused(vtrace("import", tmp_path / "small.db"), "is already a recording; nothing to import")


def test_a_database_that_no_command_reads_is_not_called_a_recording(small, tmp_path):
    assert vtrace("import", small).returncode == 0
    truncated, foreign = tmp_path / "truncated.db", tmp_path / "foreign.db"
    truncated.write_bytes((tmp_path / "small.db").read_bytes()[:5000])
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    for path in (truncated, foreign):
        refused(vtrace("import", path), vtrace("info", path).stderr.strip())


def first_block(path, at="peak"):
    return json.loads(vtrace("blocks", path, "--json", "--at", at).stdout)["blocks"][0]


@pytest.mark.parametrize("category, owner", (
    ("parameter", "weights"), ("gradient", "gradients"), ("optimizer_state", "optimizer"), ("input", "inputs"),
    ("activation", "activations/other"), ("my cache", "user/my cache")))
def test_a_category_is_an_owner(category, owner, tmp_path):
    """As torch.cuda._memory_viz writes those of the profiler, and as anybody may."""
    snapshot = snapshots.small()
    snapshot["device_traces"][0][1]["category"] = category
    path = write(tmp_path / "labelled.pickle", snapshot)
    owners = {one["address"]: one["owner"] for one in json.loads(
        vtrace("blocks", path, "--json").stdout)["blocks"]}
    assert owners[SEGMENT] == owner


def test_an_owner_of_our_own_is_whole(tmp_path):
    snapshot = snapshots.small()
    made = snapshot["device_traces"][0][1]
    made.update(category="activations", owner="activations/mlp", user_metadata="activations/mlp/net.0: hidden")
    assert first_block(write(tmp_path / "a.pickle", snapshot), "end")["owner"] == "activations/mlp/net.0: hidden"
    # Somebody's text with a slash is no owner.
    made.update(owner="weights", user_metadata="activations/mlp")
    assert first_block(write(tmp_path / "b.pickle", snapshot), "end")["owner"] == "weights"


def test_metadata_and_compiled_code_are_ranges(tmp_path):
    snapshot = snapshots.small()
    for made in snapshot["device_traces"][0]:
        made.update(user_metadata="", compile_context="N/A")
    kept, gone = snapshot["device_traces"][0][1:3]
    kept["user_metadata"] = "layer 3"
    gone["compile_context"] = "Torch-Compiled Region: 0/0"
    done = vtrace("import", write(tmp_path / "ranges.pickle", snapshot))
    with sqlite3.connect(tmp_path / "ranges.db") as database:
        rows = database.execute("SELECT size_bytes, text FROM allocation LEFT JOIN string ON string.id = scope"
                                " ORDER BY allocation.id").fetchall()
    assert done.returncode == 0 and [text for _, text in rows] == [None, "layer 3", "Torch-Compiled Region: 0/0"]


def test_an_annotated_tensor_has_a_name(tmp_path):
    """_annotate_tensor() of 2.14 says afterwards what a block is."""
    snapshot = snapshots.small()
    snapshot["device_traces"][0].append(entry("annotate", SEGMENT, 4 * MIB, 50, user_metadata="lookup"))
    path = write(tmp_path / "annotated.pickle", snapshot)
    assert first_block(path, "end")["owner"] == "user/lookup"


def test_forward_frames_are_lines(tmp_path):
    snapshot = snapshots.small()
    snapshot["device_traces"][0][1]["forward_frames"] = [
        '  File "train.py", line 30, in <module>\n    main()\n',
        '  File "model.py", line 7, in forward\n    y = f(x)\n', "no frame"]
    done = vtrace("import", write(tmp_path / "forward.pickle", snapshot))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "forward.db") as database:
        rows = database.execute(
            "WITH RECURSIVE up(id, depth) AS (SELECT leaf, 0 FROM allocation JOIN python_stack p"
            " ON p.id = forward_python_stack UNION ALL SELECT parent, depth + 1 FROM up JOIN python_node USING (id))"
            " SELECT file, name, line FROM up JOIN python_node n ON n.id = up.id JOIN python_frame f ON f.id = n.frame"
            " JOIN python_code c ON c.id = f.code ORDER BY depth").fetchall()
    assert rows[-2:] == [("model.py", "forward", 7), ("train.py", "<module>", 30)]


@pytest.mark.parametrize("of_entries", (False, True))
def test_private_pools(of_entries, tmp_path):
    """What is free in a private pool is not cached: by the pool of its segment at the end, or of the entries (2.14)."""
    snapshot = snapshots.small()
    if of_entries:
        for made in snapshot["device_traces"][0]:
            made["pool_id"] = (1, 0)
    else:
        snapshot["segments"][0]["segment_pool_id"] = (0, 1)
    found = peak(write(tmp_path / "pool.pickle", snapshot))
    assert (found["graph_pools_bytes"], found["cached_bytes"]) == (8 * MIB, 0)


def test_what_was_free_on_the_device(tmp_path):
    snapshot = snapshots.small()
    snapshot["device_traces"][0].append(
        {"action": "oom", "device_free": 100 * MIB, "size": 512 * MIB, "stream": 0, "time_us": 60, "frames": []})
    path = write(tmp_path / "oom.pickle", snapshot)
    done = vtrace("oom", path)
    assert "free on device  100.00 MiB of 120.00 MiB" in done.stdout
    assert "capacity: with 412.00 MiB more memory" in done.stdout
    assert "CUDA context" not in done.stdout


def test_a_database_does_not_go_to_standard_output(small, tmp_path):
    done = vtrace("import", small, "-o", "-")
    assert done.returncode == 2 and "standard output" in done.stderr.splitlines()[0]
    assert not (tmp_path / "-").exists()


def test_stacks_without_native_frames_are_named(small):
    """Without them a workspace of cuBLAS was called a result that is kept."""
    assert any("no C++ frames" in line for line in report(small)["notes"])


def test_a_private_pool_ends_with_its_first_segment_that_goes(tmp_path):
    """What was free in it is cached from then on."""
    snapshot = snapshots.small()
    trace = snapshot["device_traces"][0]
    second = SEGMENT + 64 * MIB
    brief = entry("alloc", second, 2 * MIB, 12)
    trace[1:1] = [entry("segment_alloc", second, 20 * MIB, 11), brief, *free(brief, 13)]
    trace.append(entry("segment_free", second, 20 * MIB, 50))
    for made in trace:
        made["pool_id"] = (1, 0)
    path = write(tmp_path / "ended.pickle", snapshot)
    found = report(path)["devices"][0]["peak"]
    assert (found["graph_pools_bytes"], found["cached_bytes"]) == (28 * MIB, 0)
    found = json.loads(vtrace("report", path, "--json", "--at", "end").stdout)["devices"][0]["peak"]
    assert (found["graph_pools_bytes"], found["cached_bytes"]) == (0, 16 * MIB)


def test_an_empty_entry_is_none(small, tmp_path):
    """Before any shape of entries was known it had the one of nothing, and was read beyond its end."""
    snapshot = snapshots.small()
    snapshot["device_traces"][0].insert(0, {})
    assert peak(write(tmp_path / "empty.pickle", snapshot))["allocated_bytes"] == 12 * MIB
