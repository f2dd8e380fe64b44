# SPDX-License-Identifier: MIT
"""`--simulate CARD,rank=R/N`: one rank of a job whose others are not there; what NCCL takes for its communicators."""
import json

import pytest

from recording import PYTHON, WORKLOADS, record, record_python, vtrace

MIB = 1 << 20


def record_rank(folder, choice, *arguments):
    recording = record_python(folder, "sharded.py", *arguments, profile=choice)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def one_rank(folder, choice, *arguments):
    return json.loads(record_rank(folder, choice, *arguments).process.stdout)


@pytest.mark.parametrize("arguments", (("fsdp",), ("ddp", "nccl")))
def test_a_rank_of_many_runs_alone(tmp_path, arguments):
    took = one_rank(tmp_path, "h100-80g,rank=17/256", *arguments)
    assert (took["rank"], took["ranks"]) == (17, 256)
    assert [path.name for path in tmp_path.glob("*.db")] == ["run.rank17.db"]


def test_alone_it_takes_what_it_takes_beside_the_others(tmp_path):
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2)
    together = record(tmp_path, PYTHON, *launcher, WORKLOADS / "sharded.py", "fsdp", "nccl", profile="h100-80g,count=2")
    assert together.process.returncode == 0, together.process.stderr
    beside = json.loads(together.process.stdout.splitlines()[0])
    alone = one_rank(tmp_path, "h100-80g,rank=1/2", "fsdp", "nccl")
    assert alone == beside


def test_a_communicator_takes_its_buffers(tmp_path):
    """One communicator, a ring: the buffers of one peer, which the card's profile knows or the user gives."""
    outside = {choice: one_rank(tmp_path, f"{choice},rank=0/8", "fsdp", "nccl")["outside"]
               for choice in ("h100-80g,nccl=0MiB", "h100-80g", "h100-80g,nccl=100MiB")}
    none, known, given = outside.values()
    assert (known - none, given - none) == (490 * MIB, 100 * MIB)


@pytest.mark.parametrize("card,words", (
    ("h100-80g,nccl=100MiB", "set by the option nccl=100MiB"), ("h100-80g", "published measurements for H100 (nccl=)"),
    ("a100-80g", "unknown on this card, counted as 0 (nccl=)")))
def test_reports_say_what_the_buffers_are(tmp_path, card, words):
    record_rank(tmp_path, f"{card},rank=0/8", "fsdp", "nccl")
    (database,) = tmp_path.glob("*.db")
    done = vtrace("report", database, "--json")
    assert [note for note in json.loads(done.stdout)["notes"] if "NCCL" in note] == [f"NCCL buffers: {words}"]


IN_A_THREAD = """
import datetime, sys, threading

def prepare():
    import torch.distributed as dist
    if sys.argv[1:]:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

thread = threading.Thread(target=prepare)
thread.start()
thread.join()  # between two bytecodes of which nothing of the simulator's can run
import torch
import torch.distributed as dist
if not dist.is_initialized():
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=5))
torch.zeros(1, device="cuda")
print(dist.get_rank(), dist.get_world_size())
"""


@pytest.mark.parametrize("in_use", (False, True), ids=("imported", "in use"))
def test_what_was_imported_by_a_thread_is_one_rank_too(tmp_path, in_use):
    program = tmp_path / "threads.py"
    program.write_text(IN_A_THREAD, encoding="utf-8")
    done = record(tmp_path, PYTHON, program, *["in use"] * in_use, profile="h100-80g,rank=3/8").process
    assert (done.returncode, done.stdout) == (0, "0 1\n" if in_use else "3 8\n"), done.stderr
    said = "rank=: torch.distributed was in use before the other ranks could be replaced: it waits for them"
    assert (f"vtrace: {said}\n" in done.stderr) == in_use
