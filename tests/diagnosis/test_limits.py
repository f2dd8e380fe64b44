# SPDX-License-Identifier: MIT
"""Recordings that cannot tell all: each command says what it can and what it cannot, and none makes anything up."""
import json

import pytest

from living import Program, until
from recording import BUILD, PYTHON, WORKLOADS, record, vtrace

CLIENT = BUILD / "tests" / "workloads" / "driver_client"
KILLED = "import os, torch; x = torch.empty(1 << 20, device='cuda'); os.kill(os.getpid(), 9)"

NO_BLOCKS, NO_PYTHON = "no blocks of a framework", "no Python"
RUNNING, DEAD = "still running", "killed: "
NOTHING_TO_REPLAY = "no blocks of PyTorch's caching allocator"
NEVER_USED = "failures are recorded only for PyTorch's allocator"
# Of what is said, that which notes are for; the rest are parts of reports, which JSON has keys for.
NOTED = {NO_BLOCKS, NO_PYTHON, RUNNING, DEAD, NOTHING_TO_REPLAY}
SAYS = {
    # recording: command: (exit code, what it says, what it does not say)
    "driver": {
        "report": (0, (NO_BLOCKS,), (RUNNING, DEAD, "FINDINGS", NO_PYTHON)),
        "frag": (0, (NOTHING_TO_REPLAY,), ("PINNED",)),
        "oom": (0, (NEVER_USED,), ("WHAT WOULD",)),
        "leaks": (0, (NO_BLOCKS, "growth unknown"), (RUNNING, DEAD, NO_PYTHON)),
        "whatif": (3, (NOTHING_TO_REPLAY,), ("predicted",)),
    },
    "without Python": {
        "report": (0, (NO_BLOCKS, NO_PYTHON), (RUNNING, DEAD, "FINDINGS")),
        "frag": (0, (NOTHING_TO_REPLAY,), ("PINNED",)),
        "oom": (0, (NEVER_USED,), ("WHAT WOULD",)),
        "leaks": (0, (NO_BLOCKS, NO_PYTHON, "growth unknown"), (RUNNING, DEAD)),
        "whatif": (3, (NOTHING_TO_REPLAY,), ("predicted",)),
    },
    "still running": {
        "report": (0, (NO_BLOCKS, RUNNING), (DEAD,)),
        "frag": (0, (NOTHING_TO_REPLAY,), ("PINNED",)),
        "oom": (0, (NEVER_USED,), ("WHAT WOULD",)),
        "leaks": (0, (NO_BLOCKS, RUNNING), (DEAD, "NEVER FREED")),
        "whatif": (3, (NOTHING_TO_REPLAY,), ("predicted",)),
    },
    "killed": {
        "report": (0, ("ended by signal 9", DEAD), (RUNNING, NO_BLOCKS)),
        "frag": (0, ("PINNED", DEAD), (RUNNING, NO_BLOCKS)),
        "oom": (0, ("no failed request before the program was killed",), (RUNNING, "WHAT WOULD")),
        "leaks": (0, (DEAD,), (RUNNING, "NEVER FREED", NO_BLOCKS)),
        "whatif": (0, ("predicted", DEAD), (RUNNING, NO_BLOCKS)),
    },
}


@pytest.fixture(name="databases", scope="module")
def fixture_databases(tmp_path_factory):
    directory = tmp_path_factory.mktemp("limits")
    made = {"driver": record(directory, PYTHON, WORKLOADS / "driver_client.py", name="driver.db").database,
            "without Python": record(directory, CLIENT, name="native.db").database,
            "killed": record(directory, PYTHON, "-c", KILLED, name="killed.db").database}
    program = Program(directory)
    program.tell("alloc 8")
    until(program.collector)
    yield {**made, "still running": directory / "run.db"}
    program.end()


@pytest.mark.parametrize("command", ["report", "frag", "oom", "leaks", "whatif"])
@pytest.mark.parametrize("kind", SAYS)
def test_each_command_says_what_it_can_and_cannot_tell(kind, command, databases):
    code, said, unsaid = SAYS[kind][command]
    done = vtrace(command, databases[kind])
    assert done.returncode == code, done.stderr
    text = done.stdout if code == 0 else done.stderr
    assert (done.stderr if code == 0 else done.stdout) == ""
    assert all(what in text for what in said), text
    assert not any(what in text for what in unsaid), text


def test_what_cannot_be_replayed_is_not_asked_for_its_batch(databases):
    """Saying it, as the message would have asked, leads nowhere."""
    for was in ([], ["--was", "8x512"]):
        done = vtrace("whatif", "--batch", "x2", *was, databases["driver"])
        assert done.returncode == 3 and NOTHING_TO_REPLAY in done.stderr


@pytest.mark.parametrize("command", ["report", "frag", "leaks"])
@pytest.mark.parametrize("kind", SAYS)
def test_programs_are_told_the_same(kind, command, databases):
    _, said, unsaid = SAYS[kind][command]
    notes = json.loads(vtrace(command, databases[kind], "--json").stdout)["notes"]
    noted = NOTED & set(said)
    assert noted and all(any(what in note for note in notes) for what in noted), notes
    assert not any(what in note for what in unsaid for note in notes), notes
