# SPDX-License-Identifier: MIT
"""`vtrace leaks` on real training loops: seeded leaks are found, loops that only look so are not."""
import json
import re

import pytest
from living import Program, until
from recording import BUILD, PYTHON, WORKLOADS, record, record_python, vtrace

CLIENT = BUILD / "tests" / "workloads" / "driver_client"
LEAKS = WORKLOADS / "leaking_loops.py"

# Bytes that each step adds, by what the loop keeps: WIDTH 256, 4 bytes.
SEEDS = {
    "losses": 256 * (1024 + 1024 + 256 + 256) * 4 + 512,  # what GELU and the products need, output and input; the loss
    "hook": 256 * 256 * 4,
    "cache": 64 * 256 * 4,
    "optimizer": 2 * (2 * 256 * 1024 + 1024 + 256) * 4,
    "traceback": 512 * (1024 + 1024 + 256 + 256) * 4,
    "closure": 256 * 256 * 4,
    "total": 256 * (1024 + 1024 + 256 + 256) * 4,
    "renamed": 256 * 256 * 4,
}
QUICK_SEEDS = ("losses", "cache", "traceback")
# The way to what each keeps, and the kinds of its links.
HOLDERS = {
    "losses": (r"variable history of F:losses > list > graph", "variable list graph"),
    "hook": (r"hook _forward_hooks of Linear > dict > closure captured of F:watch\.<locals>\.keep:\d+ > list",
             "hook dict closure list"),
    "cache": (r"variable memory.bank of F:cache", "variable"),
    "optimizer": (r"variable trainer of F:optimizer > attribute saved of Trainer > dict > dict state > dict"
                  r" > dict exp_avg(_sq)?", "variable attribute dict dict dict dict"),
    "traceback": (r"global ERRORS of F > list > exception ValueError > traceback > frame hidden of F:risky",
                  "global list exception traceback frame"),
    "closure": (r"class topics of Bus > dict step > list > default of F:closure\.<locals>\.report:\d+",
                "class dict list default"),
    "total": (r"variable total of F:total > graph", "variable graph"),
    "renamed": (r"variable history of F:renamed > list", "variable list"),
}
CLEAN = ("variable_lengths", "curriculum", "accumulation", "evaluation", "generation", "one_generation", "ema",
         "checkpointing", "adversarial", "logging", "prefetch", "amp", "sawtooth", "tables", "unfreezing", "experts",
         "filled")
QUICK_CLEAN = ("curriculum", "generation", "experts")


def parameters(names, quick):
    return [pytest.param(name, marks=() if name in quick else pytest.mark.full) for name in names]


def leaks(recording, *options):
    done = vtrace("leaks", recording.database, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def seeded_line(loop):
    """FILE:LINE of the comment that marks what the loop keeps."""
    for number, line in enumerate(LEAKS.read_text().splitlines(), 1):
        if line.endswith(f"# leak: {loop}"):
            return f"leaking_loops.py:{number}"
    raise AssertionError(loop)


def has_line(lines, wanted):
    return any(line.rpartition("/")[2].split(" ")[0] == wanted for line in lines)


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    """Recordings by loop, each made once."""
    made = {}

    def get(loop):
        if loop not in made:
            # The search for holders stops after a second, which is not much on a busy machine.
            made[loop] = record_python(tmp_path_factory.mktemp(loop), "leaking_loops.py", loop,
                                       env={"VTRACE_PROBE": "2"})
            assert made[loop].process.returncode == 0, made[loop].process.stderr
        return made[loop]

    return get


@pytest.mark.parametrize("loop", parameters(SEEDS, QUICK_SEEDS))
def test_a_seeded_leak_is_found(loop, leaking):
    found = leaks(leaking(loop))
    assert found["iterations"]["kind"] == "step" and found["iterations"]["count"] == 16
    assert found["bytes_per_iteration"] == SEEDS[loop]
    for place in found["growth"]:
        assert place["confidence"] == "high", place
        assert has_line(place["python"], seeded_line(loop)), place["python"]
        assert place["form"] == ("growing" if loop == "cache" else "accumulating")


@pytest.mark.parametrize("loop", parameters(SEEDS, QUICK_SEEDS))
def test_a_seeded_leak_has_its_holder(loop, leaking):
    way, kinds = HOLDERS[loop]
    held_by = leaks(leaking(loop))["growth"][0]["held_by"]
    assert held_by and re.fullmatch(way.replace("F", "leaking_loops.py"), held_by[0]["path"]), held_by
    assert held_by[0]["kinds"] == kinds.split() and held_by[0]["tensors"] > 0
    assert f"     held by {held_by[0]['path']}\n" in vtrace("leaks", leaking(loop).database).stdout


def test_each_of_two_lists_of_one_object_is_named(leaking):
    found = {place["bytes"] // place["blocks"] >> 20: place for place in leaks(leaking("lists"))["growth"]}
    assert sorted(found) == [2, 4]
    for size, attribute in ((2, "noise"), (4, "scores")):
        way = found[size]["held_by"][0]["path"]
        assert way == f"variable keeper of leaking_loops.py:lists > attribute {attribute} of Keeper > list", way


def test_a_name_that_one_of_them_once_had_is_no_holder(tmp_path):
    """Before the probe searches for holders it has seen names alone: of a variable, and of entries of a list."""
    recording = record_python(tmp_path, "leaking_loops.py", "renamed", "--iterations", "7")
    place, = leaks(recording)["growth"]
    assert [holder["path"] for holder in place["held_by"]] == ["variable history.* of leaking_loops.py:renamed"]


def test_nobody_notices_the_search(tmp_path):
    """Holders that shout when they are touched, counts of references, what is garbage and what is freed."""
    seen = {}
    for setting in "0", "2":
        (tmp_path / setting).mkdir()
        recording = record_python(tmp_path / setting, "probe_holders.py", env={"VTRACE_PROBE": setting})
        assert recording.process.returncode == 0, recording.process.stderr
        seen[setting] = json.loads(recording.process.stdout.splitlines()[0])
    assert recording.value("SELECT count(*) FROM tensor WHERE role = 10") > 0
    assert seen["2"]["touched"] == [] and seen["2"]["same"] == seen["0"]["same"]
    assert seen["2"]["same"]["alive"] is False


def test_growth_is_searched_only_where_there_is_any(leaking):
    reasons = "SELECT count(*) FROM probe p JOIN string s ON s.id = p.reason WHERE s.text = 'growth'"
    assert leaking("losses").value(reasons) >= 3  # after 4, 8 and 16 steps
    assert leaking("clean").value(reasons) == 0


@pytest.mark.parametrize("loop", parameters(CLEAN, QUICK_CLEAN))
def test_a_clean_loop_has_no_leak(loop, tmp_path):
    recording = record_python(tmp_path, "clean_loops.py", loop)
    assert recording.process.returncode == 0, recording.process.stderr
    found = leaks(recording)
    assert found["growth"] == [] and found["bytes_per_iteration"] == 0
    assert (found["iterations"]["points"] > 0) is (loop != "one_generation")
    done = vtrace("leaks", recording.database, "--fail-on", "1")
    assert done.returncode == (3 if loop == "one_generation" else 0)  # not known is not passed
    assert ("--fail-on: growth unknown" in done.stderr) is (loop == "one_generation")
    assert ("growth unknown: only 1 generation; " in done.stdout) is (loop == "one_generation")
    assert ("each step allocates more than the last" in done.stdout) is (loop == "curriculum")


def test_text_and_exit_codes(leaking):
    database = leaking("losses").database
    done = vtrace("leaks", database)
    assert done.returncode == 0 and done.stderr == ""
    assert re.search(r"^LEAKS  16 steps, of which 2 are warm-up$", done.stdout, re.M), done.stdout
    assert re.search(r"^GROWTH  \+2\.50 MiB/step at \d+ call sites$", done.stdout, re.M), done.stdout
    assert "confidence high (14 points, noise 0 B, 100 % of pairs increasing)" in done.stdout
    assert vtrace("leaks", database, "--fail-on", "2MiB").returncode == 1
    assert vtrace("leaks", database, "--fail-on", "3MiB").returncode == 0
    for wrong in (("--fail-on", "0"), ("--fail-on", "much"), ("--top", "-1"), ("--by", "step")):
        done = vtrace("leaks", database, *wrong)
        assert done.returncode == 2 and done.stdout == "" and done.stderr, wrong
    assert vtrace("leaks", database, "--device", "7").returncode == 3
    assert vtrace("leaks").returncode == 2
    assert len(vtrace("leaks", database, "--top", "1").stdout) < len(vtrace("leaks", database).stdout)


def test_without_python_or_a_framework(tmp_path):
    recording = record(tmp_path, CLIENT)
    assert recording.process.returncode == 0, recording.process.stderr
    notes = "\n".join(leaks(recording)["notes"])
    for what in ("no blocks of a framework", "no Python", "growth unknown"):
        assert what in notes, notes


def test_a_run_that_goes_on_and_one_that_was_killed(tmp_path):
    program = Program(tmp_path)
    program.tell("alloc 8")
    until(program.collector)
    done = vtrace("leaks", tmp_path / "run.db")
    assert done.returncode == 0, done.stderr
    assert "note: still running: " in done.stdout and "NEVER FREED" not in done.stdout
    program.end("kill 9")
    done = vtrace("leaks", tmp_path / "run.db")
    assert done.returncode == 0, done.stderr
    assert "note: killed: " in done.stdout and "NEVER FREED" not in done.stdout


BY_DESIGN = {"weights", "buffers", "gradients", "optimizer", "workspace", "communication", "graph pools"}
FAILING = """
import os
import sys
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
forgotten = torch.zeros(1 << 20).cuda()
for step in range(3):
    y = model(torch.zeros(1024, 512).cuda())
    if step == 2 and sys.argv[1:]:
        os._exit(1)
    y.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    del y
os._exit(0)
"""


@pytest.mark.parametrize("fails", (False, True))
def test_what_a_failure_interrupted_was_not_forgotten(tmp_path, fails):
    (tmp_path / "failing.py").write_text(FAILING)
    recording = record(tmp_path, PYTHON, tmp_path / "failing.py", *(["now"] if fails else []))
    assert recording.process.returncode == fails, recording.process.stderr
    found = leaks(recording)
    assert [row["bytes"] for row in found["never_freed"]] == [4 << 20], found["never_freed"]
    assert (found["interrupted_bytes"] >= 5 * 2 << 20) is fails
    text = vtrace("leaks", recording.database).stdout
    assert ("still live because the run failed" in text) is fails
    # Owners that have none of it are not named.
    kept = re.search(r"^not listed, kept by design: [0-9.]+ \w+ \((.*)\)$", text, re.M)[1].split(", ")
    live = json.loads(vtrace("blocks", recording.database, "--at", "end", "--json").stdout)["blocks"]
    assert set(kept) == {block["owner"].split("/")[0] for block in live} & BY_DESIGN


def test_bad_input(tmp_path):
    done = vtrace("leaks", tmp_path / "absent.db")
    assert done.returncode == 3 and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
