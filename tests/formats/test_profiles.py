# SPDX-License-Identifier: MIT
"""`vtrace export --format pprof|speedscope|folded`: the blocks of a moment, opened by what reads profiles."""
import collections
import json
import re
import shutil
import subprocess

import pytest
from browser import tools
from exported import export, node, owned, recording, training, viewers  # noqa: F401
from recording import SOURCE, TIMEOUT_S

BYS = ("stack", "owner", "module")


def total(rows):
    return sum(block["size_bytes"] for block in rows)


def pprof(path, *options):
    """What `go tool pprof` prints; a machine without Go skips."""
    go = shutil.which("go") or shutil.which("go", path="/usr/lib/go/bin:/usr/local/go/bin")
    if not go:
        pytest.skip("no go, whose pprof opens profiles")
    done = subprocess.run([go, "tool", "pprof", *options, path], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def samples(text):
    """Of -raw: (blocks, bytes, locations, labels) of each sample."""
    part = text.split("Samples:\n")[1].split("Locations\n")[0].splitlines()[1:]
    for line, labels in zip(part[::2], part[1::2]):
        values, locations = line.split(":")
        yield (*map(int, values.split()), locations.split(), dict(re.findall(r"(\w+):\[([^]]*)\]", labels)))


@pytest.mark.parametrize("by", BYS)
def test_pprof_has_our_blocks(by, recording, tmp_path):  # noqa: F811
    path = export(recording.database, "pprof", tmp_path / "run.pb.gz", "--by", by)
    expected = owned(recording, "most-allocated")
    found = list(samples(pprof(path, "-raw")))
    assert (sum(row[0] for row in found), sum(row[1] for row in found)) == (len(expected), total(expected))
    by_owner = collections.Counter()
    for _, size, _, labels in found:
        by_owner[labels["owner"], int(labels["device"].removeprefix("cuda:"))] += size
    at = recording.blocks("most-allocated")["at"]  # of all devices; a report takes the moment of each
    ours = {(row["owner"], device["id"]): row["bytes"]
            for device in recording.report("--at", f"event:{at['event']}")["devices"] if device["peak"]
            for row in device["peak"]["owners"] if row["blocks"]}
    assert dict(by_owner) == ours


def test_pprof_shows_the_lines_of_the_program(training, tmp_path):  # noqa: F811
    text = pprof(export(training.database, "pprof", tmp_path / "run.pb.gz"), "-top", "-lines", "-nodefraction=0")
    assert "Type: inuse_space" in text and re.search(r"GPT\.forward .*train_gpt\.py:\d+", text)


@pytest.mark.parametrize("when", ("end", "stage:backward"))
def test_pprof_of_another_moment(when, training, tmp_path):  # noqa: F811
    path = export(training.database, "pprof", tmp_path / "run.pb.gz", "--at", when)
    assert sum(row[1] for row in samples(pprof(path, "-raw"))) == total(owned(training, when))


def open_speedscope(path):
    node()
    playwright, browser = tools()
    package = f"{viewers('speedscope')}/node_modules/speedscope"
    done = subprocess.run(["node", SOURCE / "tests" / "formats" / "open_speedscope.mjs", playwright, browser, package,
                           path], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["errors"] == []
    return [profile["endValue"] - profile["startValue"] for profile in found["exported"]["profiles"]]


def test_speedscope_has_our_blocks(recording, tmp_path):  # noqa: F811
    """It exports again what it made of the file: of the profile that it shows first, that of the first device."""
    expected = owned(recording, "most-allocated")
    device = min(block["device"] for block in expected)
    path = export(recording.database, "speedscope", tmp_path / "run.json", "--device", device)
    assert open_speedscope(path) == [total(owned(recording, "most-allocated", "--device", device))]


def test_speedscope_opens_all_devices(recording, tmp_path):  # noqa: F811
    path = export(recording.database, "speedscope", tmp_path / "run.json")
    expected = collections.Counter()
    for block in owned(recording, "most-allocated"):
        expected[f"cuda:{block['device']}"] += block["size_bytes"]
    profiles = json.loads(path.read_text())["profiles"]
    assert {row["name"]: sum(row["weights"]) for row in profiles} == expected
    assert {row["name"]: row["endValue"] for row in profiles} == expected
    open_speedscope(path)


@pytest.mark.parametrize("by", BYS)
def test_folded_lines_add_up_to_our_blocks(by, recording, tmp_path):  # noqa: F811
    path = export(recording.database, "folded", tmp_path / "run.folded", "--by", by)
    lines = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    assert sum(int(size) for _, size in lines) == total(owned(recording, "most-allocated"))
    assert all(re.fullmatch(r"cuda:\d(;[^;]+)+", stack) for stack, _ in lines)


def test_speedscope_opens_folded_lines(training, tmp_path):  # noqa: F811
    """A second reader of the format than ours: flame graphs of any kind take it."""
    path = export(training.database, "folded", tmp_path / "run.folded")
    assert open_speedscope(path) == [total(owned(training, "most-allocated"))]


def test_owners_and_modules_are_paths(training, tmp_path):  # noqa: F811
    by_owner = export(training.database, "folded", tmp_path / "owner", "--by", "owner").read_text()
    assert re.search(r"^cuda:0;weights;blocks\.0\.mlp\.\w+\.weight \d+$", by_owner, re.M)
    by_module = export(training.database, "folded", tmp_path / "module", "--by", "module").read_text()
    assert re.search(r"^cuda:0;(\w+;)*blocks;0;mlp;(\w+;)*activations/mlp \d+$", by_module, re.M)
