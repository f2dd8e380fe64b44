# SPDX-License-Identifier: MIT
"""Threads and processes that come and go, descriptors that are closed: recording goes on, each process for itself."""
import collections
import os
import re
import sqlite3
import subprocess

import pytest

from recording import BUILD, MARKERS, PYTHON, WORKLOADS, clean_environment, complete, record
from scenes import BEGIN, EARLY, GIVEN_BACK, LATE, SCENES, calls_of, perform
from victim import DRIVER_FOLDER, environment, finish

SHORT_LIVES, PER_LIFE = 400, 20


def test_threads_allocate_while_others_end(tmp_path):
    assert perform(tmp_path, "threads_come_and_go").returncode == 0
    calls, _ = calls_of(tmp_path / "run.db")
    sizes = [100000 + 100 * life + i for life in range(SHORT_LIVES) for i in range(PER_LIFE)]
    assert collections.Counter(calls) == collections.Counter([(op, size) for size in sizes for op in ("alloc", "free")])
    with sqlite3.connect(tmp_path / "run.db") as database:
        # Thread ids may be used again by the kernel, never by two at a time: each has its own frees.
        assert database.execute("SELECT count(*) FROM allocation WHERE freed_thread != thread").fetchone() == (0,)


def test_threads_have_small_stacks(tmp_path):
    done = perform(tmp_path, "threads_have_small_stacks")
    assert done.returncode == 0, done.stderr
    calls, _ = calls_of(tmp_path / "run.db")
    assert calls == [(op, 100000 + 100 * life + i) for life in range(3) for i in range(PER_LIFE)
                     for op in ("alloc", "free")]


def test_a_process_ends_under_its_threads(tmp_path):
    # Its end waits for what was there when it began; if it waited for what comes meanwhile, the cap would end that.
    done = perform(tmp_path, "ends_under_its_threads", VTRACE_EXIT_WAIT="3600", VTRACE_MAX_JOURNAL="1024")
    assert done.returncode == 7
    calls, run = calls_of(tmp_path / "run.db", most_torn=4)
    assert run["ended"] == "exit 7"
    # What was in flight is at most one call per thread.
    count = collections.Counter(op for op, _ in calls)
    assert count["alloc"] >= 4 and 0 <= count["alloc"] - count["free"] <= 4


def test_a_thread_from_before_us(tmp_path):
    done = perform(tmp_path, "thread_from_before", LD_PRELOAD=str(EARLY))
    assert done.returncode == 0, done.stderr
    assert calls_of(tmp_path / "run.db")[0] == [("alloc", 1001), ("alloc", 7001), ("free", 7001), ("alloc", 1002)]


def test_workers_without_a_device_leave_nothing(tmp_path):
    assert perform(tmp_path, "forks_workers").returncode == 0
    work = [(op, 5000 + i) for i in range(4) for op in ("alloc", "free")]
    assert calls_of(tmp_path / "run.db")[0] == [*BEGIN, *work, ("alloc", 1002), *GIVEN_BACK]
    assert os.listdir(tmp_path) == ["run.db"]


def test_spawned_programs_have_their_own(tmp_path):
    assert perform(tmp_path, "spawns").returncode == 0
    complete(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == [*BEGIN, ("alloc", 1002), ("alloc", 1003), *GIVEN_BACK]
    for name in ("run-2.db", "run-3.db"):
        calls, run = calls_of(tmp_path / name)
        assert calls == BEGIN + GIVEN_BACK and run["ended"] == "exit 3"


def test_a_launcher_s_ranks(tmp_path):
    assert perform(tmp_path, "launches_ranks", output="rank-%r.db").returncode == 0
    complete(tmp_path)
    for rank in range(3):
        calls, run = calls_of(tmp_path / f"rank-{rank}.db")
        assert calls == [("alloc", 8000 + rank)]
        assert run["env:RANK"] == str(rank) and run["ended"] == "exit 3"
    assert sorted(os.listdir(tmp_path)) == ["rank-0.db", "rank-1.db", "rank-2.db"]


SPAWNING = """
import multiprocessing, sys
sys.path.insert(0, {workloads!r})
from hold_memory import allocate, connect

def work(nr):
    cuda = connect()
    held = [allocate(cuda) for _ in range(nr)]

if __name__ == "__main__":
    cuda = connect()
    held = [allocate(cuda)]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(nr,)) for nr in (2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    held.append(allocate(cuda))
"""


def test_multiprocessing_spawn(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SPAWNING.format(workloads=str(WORKLOADS)))
    recording = record(tmp_path, PYTHON, script, name="%p.db")
    assert recording.process.returncode == 0, recording.process.stderr
    assert sorted(len(calls_of(path)[0]) for path in complete(tmp_path)) == [2, 2, 3]


LOADING = """
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.full((1000,), float(index))

model = torch.nn.Linear(1000, 1000).cuda()
for epoch in range(2):
    for batch in DataLoader(Numbers(), batch_size=8, num_workers=3, pin_memory=True):
        model(batch.cuda(non_blocking=True)).sum().backward()
torch.cuda.synchronize()
"""


def test_workers_of_a_data_loader(tmp_path):
    """Forked while the device is in use, gone by os._exit: one recording, the ledger call by call."""
    script = tmp_path / "script.py"
    script.write_text(LOADING)
    recording = record(tmp_path, PYTHON, script)
    assert recording.process.returncode == 0, recording.process.stderr
    assert [path.name for path in tmp_path.glob("*.db")] == ["run.db"] and not list(tmp_path.glob("*.journal"))
    ledger = recording.read_ledger().recorded
    rows = recording.query(f"SELECT thread, op, address FROM driver_event WHERE op NOT IN {MARKERS} ORDER BY event")
    assert len(rows) > 3
    for thread in {line.thread for line in ledger}:
        assert [(op, address) for t, op, address in rows if t == thread] == \
            [(line.op, line.pointer) for line in ledger if line.thread == thread]
    assert recording.value("SELECT value FROM run WHERE key = 'lost_events'") == "0"


def descriptors(directory, env):
    done = subprocess.run([SCENES, "lists_descriptors"], cwd=directory, env=env, text=True, capture_output=True,
                          check=True)
    return [re.sub(r"\[\d+\]", "", line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("is_collected", ("0", "1"))
def test_no_descriptor_is_held(tmp_path, is_collected):
    alone = descriptors(tmp_path, clean_environment({"LD_LIBRARY_PATH": str(DRIVER_FOLDER)}))
    assert len(alone) >= 3
    assert descriptors(tmp_path, environment(tmp_path, VTRACE_COLLECT=is_collected)) == alone
    assert calls_of_finished(tmp_path) == BEGIN + GIVEN_BACK


def calls_of_finished(directory):
    finish(directory)
    return calls_of(directory / "run.db")[0]


@pytest.mark.parametrize("is_collected", ("0", "1"))
def test_all_descriptors_are_closed(tmp_path, is_collected):
    """The program checks its own files; here: that recording went on, through several chunks."""
    subprocess.run([SCENES, "closes_descriptors"], cwd=tmp_path, check=True,
                   env=environment(tmp_path, VTRACE_COLLECT=is_collected))
    calls = calls_of_finished(tmp_path)
    assert calls == [*BEGIN, *[("alloc", 4000), ("free", 4000)] * 40000, ("free", LATE)]
    for number in range(8):
        assert (tmp_path / f"own-{number}").read_bytes() == b"mine-%d\n\0" % number


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may chroot")
def test_a_program_that_locks_itself_in_is_told(tmp_path):
    """Nothing of the journal can be opened any more: it ends with a word, and keeps what it has."""
    program = ("import os, sys; sys.path.insert(0, sys.argv[1]); import hold_memory as h; cuda = h.connect();"
               " h.allocate(cuda); os.mkdir('jail'); os.chroot('jail');\n"
               "for i in range(200000): h.ok(cuda.cuMemFree_v2(h.allocate(cuda)))")
    done = subprocess.run([PYTHON, "-c", program, str(WORKLOADS)], cwd=tmp_path, capture_output=True, text=True,
                          env=environment(tmp_path, VTRACE_COLLECT="0", VTRACE_QUIET="0",
                                          LD_LIBRARY_PATH=str(BUILD / "simulator")), check=False)
    assert done.returncode == 0, done.stderr
    assert "vtrace: recording stopped; the program continues" in done.stderr
    complete(tmp_path)
    with sqlite3.connect(tmp_path / "run.db") as connection:
        assert connection.execute("SELECT count(*) FROM allocation").fetchone()[0] > 100
