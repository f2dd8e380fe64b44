# SPDX-License-Identifier: MIT
"""`vtrace report` shows both peaks: where tensors take most, and where the device is fullest."""
import json

import pytest

from recording import record_python, vtrace

PARTS = ("cached", "graph pools", "context", "other processes")


def record(directory, *arguments):
    recording = record_python(directory, "two_peaks.py", *arguments)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording, json.loads(recording.process.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return record(tmp_path_factory.mktemp("two"))


def owned(moment):
    return sum(owner["bytes"] for owner in moment["owners"] if owner["owner"].split("/")[0] not in PARTS)


def text_of(recording):
    done = vtrace("report", recording.database)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_moments_have_their_own_owners(two):
    recording, figures = two
    device = recording.report()["devices"][0]
    used, allocated = device["peak"], device["most_allocated"]
    assert allocated["event"] < used["event"]
    assert owned(allocated) == allocated["allocated_bytes"] == figures["most_allocated"]
    assert owned(used) == used["allocated_bytes"] == figures["allocated"] < figures["most_allocated"]
    assert used["reserved_bytes"] == figures["reserved"]
    for moment in (used, allocated):
        assert moment["difference_bytes"] == 0
        assert sum(owner["bytes"] for owner in moment["owners"]) == moment["device_used_bytes"]
    assert sum(place["bytes"] for place in allocated["stacks"]) == figures["most_allocated"]


def test_the_table_has_a_column_for_each(two):
    recording, _ = two
    lines = text_of(recording).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("PEAK on cuda:0"))
    assert lines[head + 1].split()[:4] == ["most", "allocated", "464.00", "MiB"]
    assert lines[head + 2].split()[:2] == ["most", "used"]
    assert lines[head + 4].split() == ["owner", "GiB", "most", "allocated", "%", "GiB", "most", "used", "%", "blocks",
                                       "known", "by"]
    cached = next(line for line in lines if line.strip().startswith("cached, not in use"))
    assert cached.split()[-4:-2] == ["0.00", "0.0"] and float(cached.split()[-2]) > 0.3
    assert any(line.startswith("STACKS") and line.endswith(", when most was allocated") for line in lines)


def test_one_moment_is_one_column_and_says_so(tmp_path):
    recording, figures = record(tmp_path, "--one")
    assert recording.report()["devices"][0]["most_allocated"] is None
    text = text_of(recording)
    assert "  most allocated at the same moment: 464.00 MiB\n" in text and "most used" not in text
    assert figures["allocated"] == figures["most_allocated"]


def test_a_moment_that_was_asked_for_is_alone(two):
    recording, _ = two
    report = json.loads(vtrace("report", recording.database, "--at", "most-allocated", "--json").stdout)
    device = report["devices"][0]
    assert device["most_allocated"] is None
    assert device["peak"]["event"] == recording.report()["devices"][0]["most_allocated"]["event"]
