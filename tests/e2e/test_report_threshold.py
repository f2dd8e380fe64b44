# SPDX-License-Identifier: MIT
"""report --warn: what came near to the size of the device."""
import pytest

from recording import record_python, vtrace

GIB = 1 << 30


@pytest.fixture(name="trained", scope="module")
def fixture_trained(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("report_threshold"), "train_mlp.py", profile="h100-80g,memory=4GiB")


def over(recording, share):
    warn = recording.report("--warn", share)["warn"]
    device, = warn["devices"]
    return device


def test_stages_and_steps_above_the_share_are_named(trained):
    report = trained.report()
    stages = {row["name"]: row["peak_device_bytes"] for row in report["stages"]}
    steps = {row["index"]: row["peak_device_bytes"] for row in report["steps"]}
    assert len(set(stages.values())) > 1 and steps
    middle = sorted(set(stages.values()))[-2]
    total = report["devices"][0]["total_bytes"]
    share = (middle + 1) / total  # the stage of the peak is above, and no other
    device = over(trained, repr(share))
    assert device["limit_bytes"] == pytest.approx(middle, abs=2)
    found = {(row["what"], row["name"]): row["peak_device_bytes"] for row in device["over"]}
    assert {name for what, name in found if what == "stage"} == {n for n, b in stages.items() if b > middle}
    assert {name for what, name in found if what == "step"} == {n for n, b in steps.items() if b > middle}
    assert found[("peak", None)] == max(stages.values())
    line, = [text for text in vtrace("report", trained.database, "--warn", repr(share)).stdout.splitlines()
             if text.startswith("WARN")]
    assert line.startswith("WARN  cuda:0  above ") and "; in stages " in line and "; in steps " in line


def test_nothing_above_is_said_too(trained):
    assert over(trained, "1")["over"] == []
    done = vtrace("report", trained.database, "--warn", "100%")
    assert done.returncode == 0 and "WARN  cuda:0  nothing above 100 % of the device (4.00 GiB)" in done.stdout
    assert trained.report()["warn"] is None and "WARN" not in vtrace("report", trained.database).stdout


@pytest.mark.parametrize("share", ["0", "-1", "1.5", "101%", "much", "", "0.5x", "nan", "0x1p-1", " 0.5"])
def test_a_share_is_between_nothing_and_all(trained, share):
    done = vtrace("report", trained.database, "--warn", share)
    assert (done.returncode, done.stdout) == (2, "") and "--warn takes a share" in done.stderr
