# SPDX-License-Identifier: MIT
"""A run that does not fit: PyTorch's own error reaches the program, and the report opens with the explanation."""
import json

import pytest

from recording import record_python, vtrace


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("oom"), "out_of_memory.py", "--uncaught",
                         profile="h100-80g,memory=4GiB")


def test_the_program_meets_pytorchs_own_error(failed):
    assert failed.process.returncode == 1
    assert "OutOfMemoryError" in failed.process.stderr
    assert "Tried to allocate" in failed.process.stderr


def test_the_report_says_so_first_with_request_and_stack(failed):
    text = vtrace("report", failed.database).stdout
    head = text[:text.index("PEAK")]
    assert "OUT OF MEMORY" in head
    assert "out_of_memory.py:" in head
    requested = failed.value("SELECT requested_bytes FROM out_of_memory ORDER BY event DESC LIMIT 1")
    told = failed.report()["out_of_memory"]
    assert told["requested_bytes"] == requested
    assert any("out_of_memory.py" in frame for frame in told["python"])
    live = failed.value("SELECT allocated_bytes FROM out_of_memory ORDER BY event DESC LIMIT 1")
    assert sum(o["bytes"] for o in told["owners"] if o["owner"].split("/")[0] not in ("cached", "context")) >= live


def test_the_very_first_request_may_be_the_one_that_fails(tmp_path):
    recording = record_python(tmp_path, "out_of_memory.py", "--uncaught", "--mib", "10240",
                              profile="h100-80g,memory=4GiB")
    assert recording.process.returncode == 1
    told = recording.report()["out_of_memory"]
    assert told["requested_bytes"] == 10240 << 20
    assert any("out_of_memory.py" in frame for frame in told["python"])


def test_the_run_is_said_to_have_ended_out_of_memory(failed):
    assert failed.report()["run"]["ended"] == "out of memory"


def test_a_request_that_fails_again_does_not_fit(failed):
    said = vtrace("whatif", failed.database).stdout
    assert "requests that failed would fail again" in said and "to spare" not in said


@pytest.mark.parametrize("request_mib", (512, 1500), ids=("nearly full", "room left"))
def test_settings_that_are_not_played_come_to_what_playing_them_does(request_mib, tmp_path):
    """oom leaves out what cannot change anything; whatif plays everything."""
    recording = record_python(tmp_path, "out_of_memory.py", "--uncaught", "--mib", request_mib,
                              profile="h100-80g,memory=4GiB")
    told = {remedy["setting"]: remedy for remedy in recording.report()["out_of_memory"]["remedies"]}
    assert len(told) == 4
    told["max_non_split_rounding_mb:20"] = told.pop("empty_cache() before it")  # which is PyTorch's own
    for setting, remedy in told.items():
        done = vtrace("whatif", recording.database, "--settings", setting, "--json")
        played = json.loads(done.stdout)["devices"][0]["predicted"]
        assert remedy["serves"] == (played["rescued_requests"] > 0), setting
        assert remedy["peak_reserved_bytes"] == played["peak_reserved_bytes"] > 0, setting
