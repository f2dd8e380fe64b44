# SPDX-License-Identifier: MIT
"""Processes that a launcher starts: each is named by its rank, and says in its recording which one it was."""
import json
import shutil
import sqlite3
import subprocess

import pytest

from recording import BUILD, PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, complete

HOLD = WORKLOADS / "hold_memory.py"
CLIENT = BUILD / "tests" / "workloads" / "driver_client"
LAUNCHERS = {
    "torchrun": {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "node7", "MASTER_PORT": "29500"},
    "mpirun": {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
    "mpiexec": {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"},
    "srun": {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "12"},
}


def start(directory, variables, *options, text="alloc 3\nfree 1\n"):
    """A program under `vtrace run`, as that launcher would start it."""
    ours = {name for values in LAUNCHERS.values() for name in values}
    kept = {name: value for name, value in clean_environment().items() if name not in ours}
    return subprocess.run([VTRACE, "run", "--simulate", "h100-80g", *options, "--", PYTHON, HOLD], cwd=directory,
                          env=kept | variables, input=text, capture_output=True, text=True, timeout=TIMEOUT_S)


def run_facts(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return dict(connection.execute("SELECT key, value FROM run"))


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_rank_is_in_the_name_and_in_the_facts(launcher, tmp_path):
    done = start(tmp_path, LAUNCHERS[launcher], "-o", "run.db")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.rank3.db"]
    assert done.stderr.endswith("next: vtrace report run.rank3.db | vtrace html run.rank3.db\n")
    facts = run_facts(tmp_path / "run.rank3.db")
    assert {key: facts[key] for key in ("launcher", "rank", "world_size", "local_rank")} == {
        "launcher": launcher, "rank": "3", "world_size": "4", "local_rank": "1"}
    assert int(facts["start_realtime_ns"]) > int(facts["start_time_ns"]) > 0 and facts["hostname"]
    assert ("job" in facts) == (launcher in ("torchrun", "srun"))


def test_a_fixed_name_that_another_rank_has_is_no_hindrance(tmp_path):
    (tmp_path / "run.db").write_text("another file")
    (tmp_path / "run.rank2.db").write_text("another rank")
    done = start(tmp_path, LAUNCHERS["torchrun"], "-o", "run.db")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.rank3.db").exists()


def test_the_name_of_the_same_rank_is_refused(tmp_path):
    (tmp_path / "run.rank3.db").write_text("mine")
    done = start(tmp_path, LAUNCHERS["torchrun"], "-o", "run.db")
    assert done.returncode == 3
    assert done.stderr == "vtrace: run.rank3.db: not a vtrace database; --force only overwrites recordings\n"
    assert (tmp_path / "run.rank3.db").read_text() == "mine"


def test_one_process_alone_is_no_rank_in_a_name(tmp_path):
    done = start(tmp_path, {"RANK": "0", "WORLD_SIZE": "1"}, "-o", "run.db")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


# Three processes, on however many processors there are; root is asked twice by Open MPI.
MPIRUN = ["mpirun", "--oversubscribe", "-np", "3"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RUN = [VTRACE, "run", "--simulate", "h100-80g,count=3", "-o", "run.db", "--"]


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun here")
@pytest.mark.parametrize("order", ("outside", "inside"))
def test_ranks_of_a_real_mpirun(order, tmp_path):
    """`vtrace run -- mpirun PROGRAM` records the ranks, not mpirun; `mpirun vtrace run -- PROGRAM` does the same."""
    words = RUN + MPIRUN if order == "outside" else MPIRUN + RUN
    done = subprocess.run([*words, CLIENT, "2"], cwd=tmp_path, env=clean_environment() | AS_ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    complete(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.rank0.db", "run.rank1.db", "run.rank2.db"]
    facts = [run_facts(tmp_path / f"run.rank{rank}.db") for rank in range(3)]
    assert {(f["launcher"], f["world_size"]) for f in facts} == {("mpirun", "3")}
    assert [(f["rank"], f["local_rank"], f["ended"]) for f in facts] == [(str(n), str(n), "exit 0") for n in range(3)]
    ranks = json.loads(subprocess.run([VTRACE, "report", tmp_path, "--json"], capture_output=True, text=True,
                                      check=True).stdout)
    assert (ranks["run"]["ranks"], ranks["run"]["world_size"], ranks["missing"]) == (3, 3, [])
