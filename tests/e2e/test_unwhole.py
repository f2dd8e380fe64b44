# SPDX-License-Identifier: MIT
"""A recording whose end is missing (its journal was cut by an interrupted copy): every command says so."""
import json
import struct

import pytest

from recording import PYTHON, record, vtrace

HEAD_SLOTS_OFFSET, HEADER_BYTES, SLOT_BYTES = 64, 4096, 64
PROGRAM = """
import torch
held = [torch.empty(1 << 20, device="cuda") for i in range(64)]
"""
SAID = "the journal is truncated: {:,} slots are missing"


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """(database, slots that are missing) of a program that ended normally."""
    directory = tmp_path_factory.mktemp("whole")
    done = record(directory, PYTHON, "-c", PROGRAM, env={"RANK": "0", "WORLD_SIZE": "1"}, options=("--no-collect",))
    assert done.process.returncode == 0, done.process.stderr
    whole = (directory / "run.journal").read_bytes()
    head, = struct.unpack_from("<Q", whole, HEAD_SLOTS_OFFSET)
    folder = tmp_path_factory.mktemp("cut")
    missing = head // 8
    (folder / "run.journal").write_bytes(whole[:HEADER_BYTES + (head - missing) * SLOT_BYTES])
    assert vtrace("info", folder / "run.db").returncode == 0
    return folder / "run.db", missing


def show(command, *arguments):
    done = vtrace(command, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_report_does_not_say_that_it_ended_normally(cut):
    database, missing = cut
    text = show("report", database)
    assert "recorded in part (exit 0)" in text and "ended normally" not in text
    assert f"lost: {SAID.format(missing)}" in text
    run = json.loads(show("report", database, "--json"))["run"]
    assert (run["ended"], run["missing_slots"]) == ("exit 0", missing)


@pytest.mark.parametrize("command", ("report", "frag", "leaks", "oom", "whatif"))
def test_text_and_json_say_it(cut, command):
    database, missing = cut
    options = ("--expandable",) if command == "whatif" else ()
    assert SAID.format(missing) in show(command, database, *options)
    assert [note for note in json.loads(show(command, database, *options, "--json"))["notes"]
            if note.startswith(SAID.format(missing))]


def test_ranks_and_diff_say_it(cut):
    database, missing = cut
    ranks = json.loads(show("report", database.parent, "--json"))["ranks"]
    assert [rank["missing_slots"] for rank in ranks] == [missing]
    assert f"the journal of rank 0 is truncated: {missing} slots" in show("report", database.parent)


def test_a_budget_can_demand_a_whole_recording(cut, tmp_path):
    database, missing = cut
    budget = tmp_path / "memory.toml"
    budget.write_text('[total]\nallocated = "1 TiB"\n')
    assert SAID.format(missing) in show("check", database, "--budget", budget)
    budget.write_text('[recording]\nlost = 0\nended = "normally"\n')
    done = vtrace("check", database, "--budget", budget, "--json", "--missing", "skip")
    assert done.returncode == 1
    # The cut may go through a record, which is torn then.
    torn = json.loads(show("report", database, "--json"))["run"]["torn_records"]
    rows = {row["limit"]: (row["outcome"], row["figure"], row["unit"]) for row in json.loads(done.stdout)["limits"]}
    assert rows == {"recording.lost": ("broken", missing + torn, "count"), "recording.ended": ("broken", 1, "count")}
    done = vtrace("check", database, "--budget", budget, "--github")
    assert done.stdout.count("::error file=") == 2 and "did not end normally" in done.stdout
    # Nobody knows how many events were in it: no number of them allows it.
    budget.write_text(f"[recording]\nlost = {missing + torn}\n")
    assert vtrace("check", database, "--budget", budget).returncode == 1


def test_a_whole_recording_keeps_to_it(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", PROGRAM)
    budget = tmp_path / "memory.toml"
    budget.write_text('[recording]\nlost = 0\nended = "normally"\n')
    assert "all limits hold" in show("check", recording.database, "--budget", budget)
    assert "ended normally" in show("report", recording.database)
    killed = record(tmp_path, PYTHON, "-c", PROGRAM + "import os; os.kill(os.getpid(), 9)", name="killed.db")
    done = vtrace("check", killed.database, "--budget", budget)
    assert done.returncode == 1 and "recording.ended" in done.stdout and "1 of 2 limits failed" in done.stdout
