# SPDX-License-Identifier: MIT
"""The database agrees with the simulator's ledger event by event, with PyTorch's own figures, and its books close."""
import json

import pytest

from recording import MARKERS, record_python

MODELS = ("gpt", pytest.param("qwen2", marks=pytest.mark.full))


@pytest.fixture(scope="module", params=MODELS)
def trained(request, tmp_path_factory):
    if request.param == "qwen2":
        pytest.importorskip("transformers")
    recording = record_python(tmp_path_factory.mktemp(request.param), "marked_training.py", "--model", request.param)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def figures(recording):
    return json.loads(recording.process.stdout.splitlines()[-1])


def test_every_driver_event_is_in_the_database_and_no_other(trained):
    recorded = trained.query("SELECT op, function, address, size_bytes FROM driver_event"
                             f" WHERE op NOT IN {MARKERS} ORDER BY event")
    lines = trained.read_ledger().recorded
    assert len(lines) > 20
    assert [(op, function, address) for op, function, address, _ in recorded] == [
        (line.op, line.function, line.pointer) for line in lines]
    sizes = [(size, line.size) for (op, _, _, size), line in zip(recorded, lines) if op == "alloc"]
    assert all(ours == theirs for ours, theirs in sizes)


def test_block_bytes_equal_memory_allocated_at_each_mark(trained):
    marks = figures(trained)["marks"]
    assert len(marks) == 3
    for name, allocated in marks.items():
        blocks = trained.blocks(f"mark:{name}")["blocks"]
        assert sum(b["size_bytes"] for b in blocks if b["kind"] == "block") == allocated, name


def test_peak_equals_max_memory_allocated(trained):
    peak = figures(trained)["peak"]
    assert trained.value("SELECT max_allocated_bytes FROM peak WHERE device = 0") == peak
    assert trained.report()["devices"][0]["peak"]["max_allocated_bytes"] == peak


def test_owners_cached_and_context_add_up_to_the_device_used(trained):
    peak = trained.report()["devices"][0]["peak"]
    owned = sum(o["bytes"] for o in peak["owners"] if o["owner"].split("/")[0] not in ("cached", "context"))
    cached = peak["reserved_bytes"] - peak["allocated_bytes"]
    assert owned + cached + peak["context_bytes"] == peak["device_used_bytes"]
    assert peak["difference_bytes"] == 0
    assert peak["device_used_bytes"] == trained.read_ledger().peak[0]


def test_the_closing_line_gives_the_same_peak_as_the_report(trained):
    used = trained.report()["devices"][0]["peak"]["device_used_bytes"]
    assert f"peak {used / (1 << 20):.2f} MiB on cuda:0" in trained.process.stderr


def test_a_second_report_is_the_same_byte_for_byte(trained):
    assert json.dumps(trained.report()) == json.dumps(trained.report())


WITHOUT_REPORTS = {"uncached": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
                   "async": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}}


@pytest.mark.parametrize("settings", WITHOUT_REPORTS)
def test_ranges_are_recorded_where_pytorch_reports_no_blocks(settings, tmp_path):
    recording = record_python(tmp_path, "marked_training.py", env=WITHOUT_REPORTS[settings])
    assert recording.value("SELECT count(*) FROM allocation WHERE kind = 1") == 0
    steps = recording.value("SELECT count(*) FROM mark m JOIN string s ON s.id = m.name"
                            " WHERE s.text LIKE 'Optimizer.step#%' AND m.kind = 2")
    assert steps == 3
