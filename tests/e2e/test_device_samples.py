# SPDX-License-Identifier: MIT
"""What NVML says of a living program's device: other processes, the context, and how it grows."""
import json
import sqlite3

import pytest

from living import Program, until
from recording import record_python, vtrace

MIB, GIB = 1 << 20, 1 << 30
CONTEXT = 522 * MIB
# What the simulated driver takes for an allocation of 1 MiB: a page.
PAGE = 2 * MIB


@pytest.fixture
def start(tmp_path):
    programs = []

    def start_one(name, **options):
        directory = tmp_path / name
        directory.mkdir()
        programs.append(Program(directory, **options))
        return programs[-1]
    yield start_one
    for program in programs:
        program.process.kill()
        program.process.communicate()


def samples(program):
    path = program.directory / "run.db"
    if not path.exists():
        return []
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT total_used_bytes, process_used_bytes FROM device_sample"
                                  " ORDER BY time_ns").fetchall()


def settle(program, total, own):
    """Waits until NVML has been seen to say so twice: the second time nothing moved."""
    until(lambda: samples(program)[-2:] == [(total, own)] * 2)


def report(program, *options):
    done = vtrace("report", "--json", *options, program.directory / "run.db")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"][0]


def owners(device):
    return {o["owner"]: o["bytes"] for o in device["peak"]["owners"]}


def test_processes_outside_are_told_from_the_context(start):
    program = start("one", profile="h100-80g,other=3GiB")
    program.tell("alloc 1")
    settle(program, 3 * GIB + CONTEXT + PAGE, CONTEXT + PAGE)
    program.end("quit 0")
    device = report(program)
    assert owners(device)["other processes"] == device["peak"]["other_processes_bytes"] == 3 * GIB
    # The rest of the page is nobody's allocation.
    assert owners(device)["unfilled pages"] == device["peak"]["rounding_bytes"] == PAGE - MIB
    assert owners(device)["context"] == device["peak"]["context_bytes"] == CONTEXT
    assert device["peak"]["device_used_bytes"] == sum(owners(device).values()) == 3 * GIB + CONTEXT + PAGE
    assert device["peak"]["difference_bytes"] == 0


def test_programs_on_one_device_see_each_other(start, tmp_path):
    shared = tmp_path / "devices"
    shared.touch()
    first, second = (start(name, env={"VTRACE_SIM_SHARED": str(shared)}) for name in ("first", "second"))
    first.tell("alloc 10")
    second.tell("alloc 30")
    mine, others = CONTEXT + 10 * PAGE, CONTEXT + 30 * PAGE
    settle(first, mine + others, mine)
    settle(second, mine + others, others)
    first.tell("alloc 1")
    first.end("quit 0")
    second.end("quit 0")
    assert owners(report(first, "--at", "end"))["other processes"] == others
    assert owners(report(second, "--at", "event:1"))["other processes"] == mine


def test_growth_of_the_context_is_told(start):
    program = start("one", profile="h100-80g,module=9MiB")
    program.tell("alloc 1")
    settle(program, CONTEXT + PAGE, CONTEXT + PAGE)
    program.tell("load 1")
    program.tell("alloc 9")
    grown = CONTEXT + 10 * PAGE + 9 * MIB
    settle(program, grown, grown)
    program.end("quit 0")
    device = report(program)
    assert device["first_context_bytes"] == CONTEXT
    assert device["last_context_bytes"] == CONTEXT + 9 * MIB
    assert owners(report(program, "--at", "event:1"))["context"] == CONTEXT
    said = vtrace("report", program.directory / "run.db").stdout
    assert "the context on cuda:0 grew from 522.00 MiB to 531.00 MiB" in said
    assert "no answer from NVML" not in said


def test_a_device_that_others_fill_is_full(tmp_path):
    left = record_python(tmp_path, "train_mlp.py", profile="h100-80g,other=70GiB")
    assert left.process.returncode == 0
    full = record_python(tmp_path, "train_mlp.py", profile="h100-80g,other=80470MiB", name="full.db")
    assert "OutOfMemoryError" in full.process.stderr
    told = full.report()["out_of_memory"]
    assert told["device_used_bytes"] > 80500 * MIB


def test_a_wrong_amount_is_refused(tmp_path):
    done = vtrace("run", "--simulate", "h100-80g,other=lots", "--", "true", cwd=tmp_path)
    message = "vtrace: --simulate h100-80g: other=lots: needs a size with its unit such as 24GiB\n"
    assert (done.returncode, done.stderr) == (2, message)
