# SPDX-License-Identifier: MIT
"""The allocator replay on the real allocator: recordings reproduced, other settings foretold, and what it cannot do."""
import json
import re

import pytest

from recording import PYTHON, WORKLOADS, record, record_python, vtrace

MIB = 1 << 20
WORN = ("fragmentation.py", "--steps", "8")


def worn(directory, settings="", profile="h100-80g"):
    return record_python(directory, *WORN, profile=profile, env={"PYTORCH_CUDA_ALLOC_CONF": settings})


def whatif(recording, *options):
    done = vtrace("whatif", recording.database, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"][0]


def frag(recording, *options):
    done = vtrace("frag", recording.database, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"][0]


def own_peak(recording):
    """What PyTorch itself printed."""
    return json.loads(recording.process.stdout.splitlines()[-1])["peak_reserved_bytes"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return worn(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def expandable(tmp_path_factory):
    return worn(tmp_path_factory.mktemp("expandable"), "expandable_segments:True")


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Seven segments of 500 MiB, each pinned by one block of 30 MiB, then a request of 1 GiB: it fits into no gap."""
    script = tmp_path_factory.mktemp("full")
    (script / "gaps.py").write_text(
        "import torch\n"
        "def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device='cuda')\n"
        "pins, rests = [], []\n"
        "for _ in range(7):\n"
        "    take(500)\n"
        "    pins.append(take(30))\n"
        "    rests.append(take(470))\n"
        "rests.clear()\n"
        "take(1024)\n")
    return record(script, PYTHON, script / "gaps.py", profile="h100-80g,memory=4200MiB")


@pytest.mark.parametrize("name", ["plain", "expandable"])
def test_a_recording_is_reproduced_one_for_one(name, request):
    recording = request.getfixturevalue(name)
    device = whatif(recording)
    assert device["comparison"]["exact"], device["comparison"]
    assert device["comparison"]["blocks"] == recording.value("SELECT count(*) FROM allocation WHERE kind = 1")
    assert device["comparison"]["segment_events"] > 10
    assert device["recorded"]["peak_reserved_bytes"] == own_peak(recording)


def test_two_streams_are_told_apart(plain):
    assert whatif(plain)["comparison"]["streams"] == 2


def test_expandable_segments_are_foretold(plain, expandable):
    predicted = whatif(plain, "--expandable")["predicted"]
    assert predicted["out_of_memory"] is None
    assert abs(predicted["peak_reserved_bytes"] - own_peak(expandable)) <= 0.01 * own_peak(expandable)
    assert own_peak(expandable) != own_peak(plain)


def test_a_collected_run_is_reproduced(tmp_path):
    recording = worn(tmp_path, "garbage_collection_threshold:0.4,per_process_memory_fraction:0.006")
    device = whatif(recording)
    assert device["comparison"]["exact"], device["comparison"]
    assert recording.value("SELECT count(*) FROM allocation WHERE kind = 2 AND freed_event IS NOT NULL") > 0


def test_a_failed_request_is_served_by_expandable_segments(full):
    assert full.process.returncode == 1
    device = whatif(full, "--expandable")
    assert device["comparison"]["exact"], device["comparison"]
    assert whatif(full)["predicted"]["rescued_requests"] == 0
    assert device["predicted"]["rescued_requests"] == 1
    assert device["predicted"]["out_of_memory"] is None


def test_what_is_cached_is_said_beside_what_is_to_spare(plain):
    """A device that is full of cache is not full of what must stay."""
    said = vtrace("whatif", plain.database, "--memory", "2GiB").stdout
    predicted = whatif(plain, "--memory", "2GiB")["predicted"]
    cached = predicted["peak_reserved_bytes"] - predicted["peak_allocated_bytes"]
    found = re.search(r"fits with .* to spare, plus up to ([0-9.]+) (MiB|GiB) of releasable cache", said)
    amount, unit = found.groups()
    assert cached > 0
    assert float(amount) * 1024 ** {"MiB": 2, "GiB": 3}[unit] == pytest.approx(cached, rel=0.01)


def test_oom_leaves_out_only_settings_that_change_nothing(full):
    """oom plays what can change something; whatif plays everything, and empty_cache() is PyTorch's own last resort."""
    told = {remedy["setting"]: remedy for remedy in full.report()["out_of_memory"]["remedies"]}
    assert len(told) == 4 and {remedy["serves"] for remedy in told.values()} == {False, True}
    told["max_non_split_rounding_mb:20"] = told.pop("empty_cache() before it")
    for setting, remedy in told.items():
        predicted = whatif(full, "--settings", setting)["predicted"]
        assert remedy["serves"] == (predicted["rescued_requests"] > 0), setting
        assert remedy["peak_reserved_bytes"] == predicted["peak_reserved_bytes"] > 0, setting


def test_a_smaller_device_fails_where_the_run_would(plain):
    predicted = whatif(plain, "--memory", "700MiB")["predicted"]
    failure = predicted["out_of_memory"]
    assert failure["reserved_bytes"] + failure["requested_bytes"] > predicted["capacity_bytes"]
    failing = vtrace("whatif", plain.database, "--memory", "700MiB").stdout
    assert "out of memory at event" in failing and "until it failed" in failing and "difference" not in failing


def test_frag_accounts_for_every_cached_byte_of_a_failed_request(full):
    at = frag(full)["at"]
    assert at["event"] == full.value("SELECT event FROM out_of_memory")
    assert at["reserved_bytes"] - at["allocated_bytes"] == at["cached_bytes"]
    assert at["free_segment_bytes"] + at["pinned_bytes"] == at["cached_bytes"]
    request = at["request"]
    assert request["request_bytes"] == 1 << 30
    assert request["serving_bytes"] == 0
    reasons = ("serving", "too_small", "other_pool", "other_stream", "unsplittable")
    assert sum(request[f"{reason}_bytes"] for reason in reasons) == at["cached_bytes"]
    assert request["device_free_bytes"] < 1 << 30
    assert at["pinned_bytes"] == 7 * 470 * MIB
    pin, = at["pinned_by"]
    assert pin["blocks"] == 7 and pin["pinned_bytes"] == at["pinned_bytes"]
    assert any("gaps.py:6" in frame for frame in pin["python"])


def test_the_map_of_frag_is_whole(plain):
    device = frag(plain)
    for segment in device["at"]["map"]:
        assert sum(piece["size_bytes"] for piece in segment["pieces"]) == segment["size_bytes"]
        blocks = [piece for piece in segment["pieces"] if piece["block"]]
        assert sum(piece["size_bytes"] for piece in blocks) == segment["allocated_bytes"]
    assert device["lower_bound_bytes"] <= device["peak_allocated_bytes"] <= device["peak_reserved_bytes"]
    assert device["lower_bound_bytes"] <= device["packed_bytes"] < device["peak_reserved_bytes"]
    assert device["peak_reserved_bytes"] == own_peak(plain)


def test_without_an_owner_less_is_needed(plain):
    everything, less = whatif(plain), whatif(plain, "--without", "optimizer")
    assert 0 < less["scaled_bytes"]
    assert less["predicted"]["peak_allocated_bytes"] < everything["predicted"]["peak_allocated_bytes"]
    more = whatif(plain, "--scale", "optimizer=3")
    assert more["predicted"]["peak_allocated_bytes"] > everything["predicted"]["peak_allocated_bytes"]


def one_line(command, recording):
    """Of frag it is the answer; whatif was asked for something that it cannot do."""
    done = vtrace(command, recording.database)
    said, other = (done.stdout, done.stderr) if command == "frag" else (done.stderr, done.stdout)
    assert done.returncode == (0 if command == "frag" else 3)
    assert other == "" and said.count("\n") == 1
    return said


@pytest.mark.parametrize("command", ["frag", "whatif"])
def test_what_cannot_be_replayed_says_so(command, tmp_path):
    recording = record_python(tmp_path, "memory_stats.py", env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    said = one_line(command, recording)
    assert "cudaMallocAsync" in said


@pytest.mark.parametrize("command", ["frag", "whatif"])
def test_a_program_without_pytorch_has_nothing_to_replay(command, tmp_path):
    recording = record(tmp_path, PYTHON, WORKLOADS / "driver_client.py")
    assert "no blocks of PyTorch's caching allocator" in one_line(command, recording)


@pytest.mark.parametrize("options", [
    ("--settings", "nonsense"), ("--max-split", "1"), ("--gc", "2"), ("--scale", "x"), ("--roundup", "3"),
    ("--memory", "much"), ("--memory", "0"), ("--settings", "backend:cudaMallocAsync"),
    ("--settings", "no_such_option:1"), ("--gc", "0"), ("--gc", "1"), ("--fraction", "nan"),
    ("--scale", "=2"), ("--without", ""), ("--scale", "activations=1e30"), ("--scale", "activations=-1")])
def test_wrong_settings_are_wrong_usage(options, plain):
    done = vtrace("whatif", plain.database, *options)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr
    assert [line.startswith("usage") for line in done.stderr.splitlines()[1:]] in ([], [True])


@pytest.mark.parametrize("mib", (2, 3, 8, 9, 10))
def test_large_segments_are_larger_than_what_gets_its_own(mib, plain):
    """PyTorch 2.11: "large_segment_size_mb must be > 10 MB"."""
    done = vtrace("whatif", plain.database, "--large-segment", mib)
    assert done.returncode == 2 and done.stdout == ""
    assert "large_segment_size_mb below 11" in done.stderr.splitlines()[0]
    assert whatif(plain, "--large-segment", 11)["predicted"]["peak_reserved_bytes"] > 0


@pytest.mark.parametrize("options", [("--without", "nobody"), ("--without", "optimizer", "--scale", "optimizer=2")])
def test_an_owner_that_has_nothing_is_no_answer(options, plain):
    done = vtrace("whatif", plain.database, *options)
    assert done.returncode == 3
    assert done.stdout == ""
    assert f'"{options[-1].split("=")[0]}"' in done.stderr and done.stderr.count("\n") == 1


def test_the_head_says_what_was_changed(plain):
    def head(*options):
        return vtrace("whatif", plain.database, *options).stdout.splitlines()[0]

    assert head() == "WHAT IF  cuda:0  default settings, nothing changed"
    text = head("--expandable", "--memory", "40GiB", "--without", "optimizer", "--scale", "activations=1.5")
    assert "default settings -> expandable_segments:True, 40.00 GiB of memory, without optimizer (" in text
    assert "activations x 1.5 (" in text
    changed = whatif(plain, "--memory", "40GiB", "--without", "optimizer")["changed"]
    assert changed["memory_bytes"] == 40 << 30 and not changed["settings"]
    scale, = changed["scales"]
    assert (scale["owner"], scale["factor"]) == ("optimizer", 0)
    assert scale["blocks"] > 0 and scale["bytes"] > 0


def test_a_fraction_is_one_of_the_device_asked_for(plain):
    """Half of 1 GiB is what half of 80 GiB is not: too little."""
    predicted = whatif(plain, "--memory", "1GiB", "--fraction", "0.3")["predicted"]
    assert predicted["out_of_memory"] or predicted["retries"]
    assert predicted["peak_reserved_bytes"] <= 0.3 * (1 << 30)


def test_a_threshold_without_a_fraction_is_said_to_change_nothing(plain):
    note = "note: garbage_collection_threshold (--gc) has no effect without a memory fraction (--fraction)"
    for options, has in ((("--gc", "0.8"), True), (("--gc", "0.8", "--fraction", "0.5"), False), ((), False)):
        assert (note in vtrace("whatif", plain.database, *options).stdout.splitlines()) is has
        notes = json.loads(vtrace("whatif", plain.database, *options, "--json").stdout)["notes"]
        assert (note.removeprefix("note: ") in notes) is has


def test_the_pools_of_graphs_are_told_apart(tmp_path):
    """What they keep, by PyTorch's own snapshot, and when it becomes cache like any other."""
    recording = record_python(tmp_path, "graph_pools.py")
    said = {line["mark"]: line for line in map(json.loads, recording.process.stdout.splitlines()[:5])}
    assert whatif(recording)["comparison"]["exact"]

    def private(mark):
        return [s for s in frag(recording, "--at", f"mark:{mark}")["at"]["map"] if s["private_pool"]]

    kept = [s for s in private("emptied") if not s["free_segment_bytes"]]
    assert sum(s["pinned_bytes"] for s in kept) == said["emptied"]["private_idle"] > 0
    assert private("captured") and not any(s["free_segment_bytes"] for s in private("captured"))
    assert sum(s["free_segment_bytes"] for s in private("reset")) > 0


def test_nothing_is_too_small_to_account_for(plain):
    done = vtrace("frag", plain.database, "--request", "0")
    assert done.returncode == 2
    assert '"0" is not a size such as 64MiB' in done.stderr


def test_many_blocks_on_two_streams_are_reproduced(tmp_path):
    recording = record_python(tmp_path, "many_blocks.py", "--blocks", "10000")
    comparison = whatif(recording)["comparison"]
    assert comparison["exact"]
    assert (comparison["blocks"], comparison["streams"]) == (10000, 2)
    assert comparison["requests_known"] == 10000


CONFIG = {"model_type": "llama", "hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6,
          "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 24000}


def planned(directory, batch):
    (directory / "config.json").write_text(json.dumps(CONFIG))
    return record_python(directory, "planned_run.py", directory / "config.json", "--train", "--attention", "eager",
                         "--batch", batch, "--seq", 320, profile="h100-80g")


@pytest.fixture(scope="module")
def two_rows(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("two"), 2)


def test_twice_the_batch_is_foretold(two_rows, tmp_path):
    device = whatif(two_rows, "--batch", "x2")
    assert device["changed"]["batch"]["recorded"] == 2 and device["changed"]["batch"]["asked"] == 4
    assert 0 < device["changed"]["batch"]["blocks"] < device["comparison"]["blocks"]
    peak = planned(tmp_path, 4).report()["devices"][0]["peak"]
    assert device["predicted"]["peak_allocated_bytes"] == pytest.approx(peak["max_allocated_bytes"], rel=0.01)
    assert device["predicted"]["peak_reserved_bytes"] == pytest.approx(peak["reserved_bytes"], rel=0.02)
    assert device["recorded"]["peak_allocated_bytes"] < 0.9 * peak["max_allocated_bytes"]
    assert device["predicted"] == whatif(two_rows, "--batch", "4")["predicted"]
    assert ", batch 2 -> 4 (" in vtrace("whatif", two_rows.database, "--batch", "x2").stdout


def test_the_same_batch_is_the_recording(two_rows):
    assert whatif(two_rows, "--batch", "x1")["predicted"] == whatif(two_rows)["predicted"]


@pytest.mark.parametrize("batch, status, words", (
    ("x0", 2, "--batch takes"), ("x", 2, "--batch takes"), ("2x", 2, "--batch takes"), ("0", 2, "--batch takes"),
    ("x0.3", 2, "0.6, not a valid batch"), ("x1e18", 2, "not a valid batch"),
    ("4294967295", 2, "no device has that much")))
def test_what_is_no_batch(two_rows, batch, status, words):
    done = vtrace("whatif", two_rows.database, "--batch", batch)
    assert done.returncode == status and words in done.stderr and done.stdout == ""


def test_a_size_that_its_inputs_were_not_is_said(two_rows):
    for was, is_other in (("2x320", False), ("4x160", True)):
        options = (two_rows.database, "--was", was, "--batch", "x2")
        notes = json.loads(vtrace("whatif", *options, "--json").stdout)["notes"]
        for told in ("\n".join(notes), vtrace("whatif", *options).stdout):
            assert ("--was differs from the recorded inputs: 2 x 320" in told) is is_other


def test_what_was_recorded_is_of_a_batch(two_rows):
    done = vtrace("whatif", two_rows.database, "--was", "4x160")
    assert done.returncode == 2 and "--batch" in done.stderr.splitlines()[0] and done.stdout == ""


def test_a_recording_without_inputs_has_no_batch(full):
    done = vtrace("whatif", full.database, "--batch", "x2")
    assert done.returncode == 3 and "--was" in done.stderr and done.stdout == ""


def test_a_failed_request_follows_the_batch(full):
    """1 GiB for 8 rows; the gaps are of 470 MiB."""
    assert whatif(full, "--was", "8", "--batch", "7")["predicted"]["rescued_requests"] == 0
    assert whatif(full, "--was", "8", "--batch", "2")["predicted"]["rescued_requests"] == 1
