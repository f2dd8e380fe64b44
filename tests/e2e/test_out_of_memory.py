# SPDX-License-Identifier: MIT
"""A run that does not fit: PyTorch's own error reaches the program, and the report opens with the explanation."""
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
    assert "failed requests would fail again" in said and "to spare" not in said
