# SPDX-License-Identifier: MIT
"""Several recordings a side: what differs between the sides by no more than equal runs do is noise."""
import json
import shutil

import pytest

from recording import PYTHON, WORKLOADS, record, vtrace

# KiB that a run keeps beside what it trains: what a program has of threads and timing.
NOISE = {"base": (8192, 1024, 4096), "equal": (6144, 2048, 5120)}
KEPT = "from torch.utils.checkpoint import checkpoint\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By name the recordings of a side; "larger" has the batch of 5 and no noise."""
    folder = tmp_path_factory.mktemp("runs")
    script = folder / "training.py"
    script.write_text((WORKLOADS / "diff_training.py").read_text().replace(
        KEPT, KEPT + 'KEPT = torch.zeros(1024 * int(sys.argv.pop()), dtype=torch.int8, device="cuda")\n'))

    def make(name, number, *arguments):
        made = record(folder, PYTHON, script, *arguments, name=f"{name}{number}.db")
        assert made.process.returncode == 0, made.process.stderr
        return made.database
    sides = {name: [make(name, i, str(kib)) for i, kib in enumerate(noise)] for name, noise in NOISE.items()}
    sides["larger"] = [make("larger", 0, "batch=5", "4096"), make("larger", 1, "batch=5", "2048")]
    return sides


def diff(base, new, *options, code=0):
    done = vtrace("diff", *base, "--", *new, *options)
    assert done.returncode == code, done.stderr
    return done


def test_equal_runs_are_no_difference(runs):
    done = diff(runs["base"], runs["equal"], "--fail-on", "any", "--fail-on", "total:+0", "--fail-on", "allocated:+0",
                "--fail-on", "owner:user:+0")
    assert "\nno change beyond noise: equal runs differ by up to 7.00 MiB allocated, " in done.stdout
    assert f"base  {runs['base'][2]}, the median of 3 recordings by most allocated bytes" in done.stdout
    # Of one recording a side each of it is a difference.
    pair = vtrace("diff", runs["base"][1], runs["equal"][0], "--fail-on", "allocated:+0", "--fail-on", "any")
    assert pair.returncode == 1 and "FAILED any" in pair.stderr and "FAILED allocated" in pair.stderr


def test_what_is_more_than_noise_is_a_change(runs):
    done = diff(runs["base"], runs["larger"], "--fail-on", "allocated:+0", code=1)
    assert "FAILED allocated:+0" in done.stderr
    assert "noise: equal runs differ by up to 7.00 MiB allocated, " in done.stdout
    assert "batch 4 -> 5" in done.stdout.splitlines()[0] and "logits +" in done.stdout
    assert "training.py:78 loss_of" in done.stdout and "training.py:9 <module>" not in done.stdout


def test_json_and_markdown_say_the_noise(runs):
    found = json.loads(diff(runs["base"], runs["equal"], "--json").stdout)
    assert found["base"] == str(runs["base"][2]) and len(found["base_recordings"]) == len(found["new_recordings"]) == 3
    device = found["devices"][0]
    allocated = device["allocated"]
    assert (allocated["noise_bytes"], allocated["is_change"], found["is_different"]) == (7 << 20, False, False)
    assert 0 < abs(allocated["change_bytes"]) <= 1 << 20 and device["spread_bytes"] == 7 << 20
    assert device["places"][0]["noise_bytes"] == 7 << 20 and not any(p["is_change"] for p in device["places"])
    text = diff(runs["base"], runs["larger"], "--format", "markdown").stdout
    assert ("Of 3 and 2 recordings, those with the median of the most allocated bytes are compared; "
            "equal runs differ by up to") in text


def test_sides_that_cannot_be_compared(runs, tmp_path):
    first, second, third = runs["base"]
    copy = tmp_path / "copy.db"
    shutil.copy(first, copy)
    linked = tmp_path / "linked.db"
    linked.symlink_to(third)
    for arguments, code, words in (
            (("--", first, second), 2, "missing BASE before --"),
            ((first, second, "--"), 2, "missing NEW after --"),
            ((first, second, third), 2, "BASE... -- NEW..."),
            ((first, second, "--", first), 2, f"{first} is given twice"),
            ((first, "--", third, linked), 2, "is given twice, also as "),
            ((first, second, "--", tmp_path / "none.db"), 3, "none.db"),
            ((first, second, "--", third, "--at", "step:99"), 3, "no step 99")):
        done = vtrace("diff", *arguments)
        assert (done.returncode, done.stdout) == (code, "") and words in done.stderr
        assert done.stderr.count("\n") == 1 + ("usage:" in done.stderr)
    # Whatever its name, a copy is a recording.
    assert vtrace("diff", first, "--", copy, "--fail-on", "any").returncode == 0
