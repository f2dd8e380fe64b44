# SPDX-License-Identifier: MIT
"""A collector that does not come to its work: the journal grows, the program goes on, nothing is lost unasked."""
import os
import signal

from recording import vtrace
from scenes import BEGIN, GIVEN_BACK, SCENES, calls_of
from victim import CLIENT, DRIVER_FOLDER, Victim, check_books, finish, read_books

MIB = 1 << 20


def stop_collector(victim):
    assert victim.wait_until(lambda: victim.importer)
    os.kill(victim.importer, signal.SIGSTOP)
    return victim.importer


def test_a_stopped_collector_stops_nobody(tmp_path):
    victim = Victim(tmp_path, 2, 120000, VTRACE_EXIT_WAIT="0")
    collector = stop_collector(victim)
    try:
        assert victim.end() == 0
        # 240,000 events of two slots, behind what it had read before it was stopped.
        assert victim.head > 480000 and victim.imported < victim.head
        assert victim.journal.stat().st_size > 30 * MIB
    finally:
        os.kill(collector, signal.SIGCONT)
    assert finish(tmp_path)["run"]["ended"] == "exit 0"
    assert [len(calls) >= 120000 for calls in read_books(tmp_path).values()] == [True, True]
    check_books(tmp_path)
    assert not victim.journal.exists()


def test_a_cap_becomes_counted_loss(tmp_path):
    victim = Victim(tmp_path, 1, 120000, False, VTRACE_MAX_JOURNAL="13")
    _, said = victim.process.communicate(timeout=120)
    assert victim.process.returncode == 0
    assert said == f"vtrace: recording stopped, the program goes on: {victim.journal}: File too large\n"
    assert victim.journal.stat().st_size < 13 * MIB
    run = finish(tmp_path)["run"]
    # Three chunks full of events, some records of stacks among them.
    assert 3 * 65536 / 2 - 3000 < run["events"] <= 3 * 65536 / 2
    calls = len(next(iter(read_books(tmp_path).values())))
    assert run["events"] + run["lost_events"] == calls + 1
    assert run["recording_stopped"] == "File too large"


def test_what_was_recycled_does_not_count(tmp_path):
    """A program that its collector keeps up with stays below a cap that its whole journal is far above."""
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_MAX_JOURNAL="17")
    for _ in range(14):
        victim.process.stdin.write("\n")
        victim.process.stdin.flush()
        assert victim.process.stdout.readline() == "done\n"
        assert victim.wait_until(lambda: victim.imported >= victim.head)
    _, said = victim.process.communicate(timeout=120)
    assert (victim.process.returncode, said) == (0, "")
    assert victim.head * 64 > 2 * 17 * MIB
    finish(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == [*BEGIN, *[("alloc", 6000), ("free", 6000)] * 140000, *GIVEN_BACK]


def test_the_option_is_the_variable(tmp_path):
    done = vtrace("run", "--no-collect", "--max-journal", 5, "-o", tmp_path / "run.db", "--", CLIENT,
                  tmp_path / "ledger", 1, 90000, env={"LD_LIBRARY_PATH": str(DRIVER_FOLDER)})
    assert done.returncode == 0 and "File too large" in done.stderr, done.stderr
    assert vtrace("run", "--max-journal", "much", "--", "true").returncode == 2
