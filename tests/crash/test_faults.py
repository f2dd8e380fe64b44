# SPDX-License-Identifier: MIT
"""System calls of the recorder that fail, disks that are full: the program notices nothing, what is lost is counted."""
import errno
import shutil
import signal
import struct
import subprocess

import pytest

from recording import LIBRARY, TIMEOUT_S, VTRACE, clean_environment, vtrace
from scenes import SCENES
from victim import CLIENT, DRIVER_FOLDER, MOST_SAMPLES, Victim, check_books, environment, finish, read_books

FAULT = DRIVER_FOLDER / "libfault.so"
SMALL, LARGE = 300, 40000  # calls: within one chunk; the journal grows twice
MOST_FAULTS = 400


class Faulted:
    """One run of the client in which some of the recorder's system calls fail."""

    def __init__(self, directory, calls, collect=0, **fault):
        self.directory, self.calls, self.call = directory, calls, fault["call"]
        directory.mkdir()
        count = directory / "count"
        count.write_bytes(bytes(16))
        extra = {f"FAULT_{key.upper()}": str(value) for key, value in fault.items()}
        extra |= {"FAULT_COUNT": str(count), "LD_PRELOAD": f"{LIBRARY}:{FAULT}", "VTRACE_COLLECT": str(collect)}
        self.done = subprocess.run([CLIENT, "ledger", "1", str(calls)], cwd=directory, text=True, timeout=TIMEOUT_S,
                                   env=environment(directory, **extra), capture_output=True, check=False)
        self.nr_calls, self.nr_failed = struct.unpack("<QQ", count.read_bytes())
        self.has_recording = bool(list(directory.glob("run.*")))

    def check(self, books):
        """The program's own result is what it is without us; recorded and lost add up. Returns how many were lost."""
        assert self.done.returncode == 0 and self.done.stdout == "", self.done.stderr
        foreign = [line for line in self.done.stderr.splitlines() if not line.startswith("vtrace: ")]
        assert not foreign and self.done.stderr.count("\n") <= 1, self.done.stderr
        assert list(read_books(self.directory).values()) == books
        if not self.has_recording:
            # Where nothing tells whether standard error is still the program's, nothing is said.
            assert "vtrace: not recording; the program continues: " in self.done.stderr or self.call == "fstat"
            return self.calls
        run = finish(self.directory)["run"]
        total = run["events"] + run["lost_events"]
        # The recorder's own questions for the memory in use are events as well; some may be among the lost.
        assert 0 <= total - len(books[0]) <= MOST_SAMPLES, run
        assert run["torn_records"] == 0
        if not run["lost_events"]:
            check_books(self.directory)
        return run["lost_events"]


@pytest.fixture(name="books", scope="module")
def fixture_books(tmp_path_factory):
    """{calls: what the client's books say without the recorder}"""
    found = {}
    for calls in (SMALL, LARGE):
        directory = tmp_path_factory.mktemp("books")
        env = clean_environment({"LD_LIBRARY_PATH": str(DRIVER_FOLDER)})
        subprocess.run([CLIENT, "ledger", "1", str(calls)], cwd=directory, env=env, check=True)
        found[calls] = list(read_books(directory).values())
    return found


def each_fault(tmp_path, books, calls, collect, is_lasting, **fault):
    """Fails the first call, then the second, ... until the program makes no more. Returns what each fault lost."""
    lost = []
    for number in range(1, MOST_FAULTS):
        until = {} if is_lasting else {"until": number}
        run = Faulted(tmp_path / f"n{number}", calls, collect, **{"from": number}, **until, **fault)
        nr_reached = max(run.nr_calls - number + 1, 0)
        try:
            assert run.nr_failed == (nr_reached if is_lasting else min(nr_reached, 1))
            nr_lost = run.check(books[calls])
            assert run.nr_failed or nr_lost == 0
        except AssertionError as error:
            raise AssertionError(f"fault {number}: {error}") from error
        shutil.rmtree(run.directory)
        if not run.nr_failed:
            return lost
        lost.append(nr_lost)
    raise AssertionError("it never stops calling")


def test_any_call_may_fail_once(tmp_path, books):
    lost = each_fault(tmp_path, books, SMALL, 0, False, call="any")
    # Most of them only cost a fact; without the file or its memory there is no recording.
    assert len(lost) > 40 and lost.count(0) > len(lost) / 2 and max(lost) == SMALL


def test_any_call_may_fail_once_while_a_collector_starts(tmp_path, books):
    # At the end it waits, by as many calls as that takes: the first are those of the start, and about 120 are sure.
    lost = []
    for number in range(1, 90):
        run = Faulted(tmp_path / f"n{number}", SMALL, 1, call="any", until=number, **{"from": number})
        assert run.nr_failed == 1, f"fault {number} of {run.nr_calls} calls"
        lost.append(run.check(books[SMALL]))
    assert lost.count(0) > len(lost) / 2 and max(lost) == SMALL


@pytest.mark.parametrize("call", ("mmap", "mprotect", "munmap", "madvise", "clone"))
def test_a_call_may_fail_from_some_time_on(tmp_path, books, call):
    lost = each_fault(tmp_path, books, SMALL, int(call == "clone"), True, call=call)
    # Without the first memory there is no recording; the others cost nothing that is recorded.
    assert lost and max(lost) == (SMALL if call in ("mmap", "mprotect") else 0)


def test_the_kernel_may_not_read_the_environment_for_us(tmp_path, books):
    run = Faulted(tmp_path / "run", SMALL, call="process_vm_readv", **{"from": 1})
    assert run.nr_failed and run.check(books[SMALL]) == 0


@pytest.mark.parametrize("call", ("openat", "fallocate", "mprotect", "fstat", "close"))
def test_a_call_of_growth_may_fail_from_some_time_on(tmp_path, books, call):
    lost = each_fault(tmp_path, books, LARGE, 0, True, call=call)
    if call == "close":
        assert lost and max(lost) == 0
    else:
        # In the middle: a part is recorded.
        assert [nr for nr in lost if 0 < nr < LARGE]


@pytest.mark.parametrize("number", (errno.ENOSPC, errno.EDQUOT, errno.EIO))
def test_the_reason_is_kept(tmp_path, books, number):
    run = Faulted(tmp_path / "run", LARGE, call="fallocate", errno=number, **{"from": 2})
    assert 0 < run.check(books[LARGE]) < LARGE
    with_reason = finish(run.directory)["run"]["recording_stopped"]
    assert with_reason and with_reason in run.done.stderr


def test_files_that_cannot_be_mapped_are_written(tmp_path, books):
    run = Faulted(tmp_path / "run", LARGE, call="map_shared")
    assert run.has_recording and run.nr_calls > 0
    assert (run.directory / "run.journal").stat().st_size > 8 << 20
    assert run.check(books[LARGE]) == 0


def test_their_collector_reads_them(tmp_path, books):
    run = Faulted(tmp_path / "run", LARGE, collect=1, call="map_shared")
    assert run.check(books[LARGE]) == 0


def test_their_importer_cannot_map_them_either(tmp_path, books):
    run = Faulted(tmp_path / "run", LARGE, call="map_shared")
    count = tmp_path / "count"
    count.write_bytes(bytes(16))
    done = subprocess.run([VTRACE, "info", "run.db"], cwd=run.directory, capture_output=True, text=True, check=False,
                          env=clean_environment({"LD_PRELOAD": str(FAULT), "FAULT_COUNT": str(count),
                                                 "FAULT_CALL": "map_shared", "FAULT_OBJECT": ""}))
    assert done.returncode == 0, done.stderr
    assert struct.unpack("<QQ", count.read_bytes())[1] > 0
    assert run.check(books[LARGE]) == 0


@pytest.mark.parametrize("number", (1, 2))
def test_a_jump_out_of_the_recorder(tmp_path, number):
    """While it opens the journal, while it grows it: one event waits for what never comes, the others do not."""
    count = tmp_path / "count"
    count.write_bytes(bytes(16))
    fault = {"FAULT_CALL": "fallocate", "FAULT_FROM": number, "FAULT_UNTIL": number, "FAULT_COUNT": count,
             "FAULT_SIGNAL": int(signal.SIGUSR1), "LD_PRELOAD": f"{LIBRARY}:{FAULT}", "VTRACE_COLLECT": 0}
    env = environment(tmp_path, **{key: str(value) for key, value in fault.items()})
    done = subprocess.run([SCENES, "jumps_out"], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    said = "not recording" if number == 1 else "recording stopped"
    assert done.stderr.startswith(f"vtrace: {said}; the program continues: ") and done.stderr.count("\n") == 1
    if number == 2:
        run = finish(tmp_path)["run"]
        assert run["recording_stopped"] and run["events"] > 10000 and run["lost_events"] > 10000


def test_killed_it_loses_a_batch_at_most(tmp_path):
    count = tmp_path / "count"
    count.write_bytes(bytes(16))
    victim = Victim(tmp_path, 1, 80000, False, FAULT_CALL="map_shared", FAULT_COUNT=str(count),
                    LD_PRELOAD=f"{LIBRARY}:{FAULT}")
    victim.wait_until(lambda: (tmp_path / "run.journal").exists() and
                      (tmp_path / "run.journal").stat().st_size > 5 << 20)
    victim.kill()
    run = finish(tmp_path)["run"]
    done = len(next(iter(read_books(tmp_path).values())))
    assert run["torn_records"] == run["lost_events"] == 0
    # 64 KiB of records of 128 bytes, and as much again that was being written.
    assert run["events"] > done - 1024


@pytest.fixture(name="in_small_disk", scope="module")
def fixture_in_small_disk(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mountable")
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", str(directory)], capture_output=True,
                           text=True, check=False)
    if probe.returncode:
        pytest.skip(f"no file systems can be mounted here: {probe.stderr.strip()}")
    return run_in_small_disk


def run_in_small_disk(directory, mebibytes, script, mount="rw"):
    """Runs a shell script in a file system of that size, which it sees as `disk`."""
    (directory / "disk").mkdir()
    script = (f"mount -t tmpfs -o size={mebibytes}m tmpfs disk && mount -o remount,{mount} disk && cd disk &&\n"
              f"{script}")
    env = environment(directory / "disk", VTRACE=str(VTRACE), CLIENT=str(CLIENT), SHIM=str(LIBRARY))
    env.pop("LD_PRELOAD")
    return subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=directory, env=env, capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)


@pytest.mark.parametrize("mebibytes, collect", ((9, 0), (9, 1), (2, 1)))
def test_a_full_disk(tmp_path, in_small_disk, mebibytes, collect):
    # What is on the disk is taken away before it is gone; there is room for it, and the database. Not
    # while the collector moves events from one file into the other: it holds the journal's lock.
    done = in_small_disk(tmp_path, mebibytes, f"""
        VTRACE_COLLECT={collect} LD_PRELOAD=$SHIM $CLIENT ../ledger 1 90000 || exit 50
        (flock 9) 9<run.journal 2>/dev/null
        cp -a run.* .. 2>/dev/null; exit 0""")
    assert done.returncode == 0, done.stderr
    assert len(next(iter(read_books(tmp_path).values()))) >= 90000
    if mebibytes == 2:
        assert "not recording" in done.stderr and not list(tmp_path.glob("run.*"))
        return
    run = finish(tmp_path)["run"]
    assert run["events"] + run["lost_events"] >= 90000
    assert run["events"] > 20000
    if collect == 0:
        assert run["recording_stopped"] == "No space left on device" and run["lost_events"] > 0


def test_a_read_only_disk(tmp_path, in_small_disk):
    done = in_small_disk(tmp_path, 9, "LD_PRELOAD=$SHIM $CLIENT ../ledger 1 300", mount="ro")
    assert done.returncode == 0
    assert done.stderr.startswith("vtrace: not recording") and "Read-only file system" in done.stderr


def test_the_folder_is_removed(tmp_path):
    output = tmp_path / "output"
    output.mkdir()
    # What one thread has left to do is more than the journal has room for.
    victim = Victim(tmp_path, 2, 60000, pause=1, VTRACE_OUTPUT=str(output / "run.db"))
    assert victim.wait_until(lambda: read_books(tmp_path))
    shutil.rmtree(output, ignore_errors=True)
    _, said = victim.process.communicate(timeout=TIMEOUT_S)
    assert victim.process.returncode == 0
    reason = f"{output / 'run.journal'}: No such file or directory"
    # The recorder says it once; before or after it the collector, where it came too late.
    stopped = f"vtrace: recording stopped; the program continues: {reason}"
    collector = [line for line in said.splitlines() if line != stopped]
    assert said.splitlines().count(stopped) == 1
    assert collector in ([], [f"vtrace: {reason}"])
    assert [len(calls) >= 60000 for calls in read_books(tmp_path).values()] == [True, True]


def test_what_the_collector_cannot_store_is_kept(tmp_path, in_small_disk):
    """Its disk is full, not the program's: the journal stays until there is room."""
    done = in_small_disk(tmp_path, 16, """
        VTRACE_COLLECT=0 LD_PRELOAD=$SHIM $CLIENT ../ledger 1 50000 || exit 50
        head -c 100m /dev/zero > filler 2>/dev/null
        $VTRACE info run.db; test $? = 3 || exit 51
        test -e run.journal || exit 52
        rm filler; $VTRACE info run.db > ../info || exit 53
        test ! -e run.journal && cp run.db ..""")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "full" in done.stderr or "No space" in done.stderr
    check_books(tmp_path)
    assert vtrace("info", tmp_path / "run.db").returncode == 0
