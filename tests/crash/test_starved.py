# SPDX-License-Identifier: MIT
"""A collector that does not come to its work: the journal grows, the program goes on, nothing is lost unasked."""
import os
import re
import shutil
import signal
import sqlite3
import time

from recording import LIBRARY, TIMEOUT_S, VTRACE, vtrace
from scenes import BEGIN, GIVEN_BACK, SCENES, calls_of
from victim import CLIENT, DRIVER_FOLDER, MOST_SAMPLES, Victim, check_books, finish, read_books

MIB = 1 << 20
PAUSED = "vtrace: recording paused; the program continues: {}: File too large\n"


def stop_collector(victim):
    assert victim.wait_until(lambda: victim.importer)
    os.kill(victim.importer, signal.SIGSTOP)
    return victim.importer


def test_a_stopped_collector_stops_nobody(tmp_path):
    victim = Victim(tmp_path, 2, 120000, pause=1, VTRACE_EXIT_WAIT="0")
    collector = stop_collector(victim)
    try:
        assert victim.end() == 0
        # 240,000 events of two slots; those of one thread are behind what it had read before it was stopped.
        assert victim.head > 480000 and victim.imported < victim.head
        assert victim.journal.stat().st_size > 30 * MIB
    finally:
        os.kill(collector, signal.SIGCONT)
    assert finish(tmp_path)["run"]["ended"] == "exit 0"
    assert [len(calls) >= 120000 for calls in read_books(tmp_path).values()] == [True, True]
    check_books(tmp_path)
    assert not victim.journal.exists()


def by_another_collector(directory, script):
    """by_return under a recorder beside which another `vtrace` stands: a shell script."""
    folder = directory / "installed"
    folder.mkdir()
    shutil.copy(LIBRARY, folder)
    (folder / "vtrace").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "vtrace").chmod(0o700)
    return Victim(directory, command=(SCENES, "by_return"), LD_PRELOAD=str(folder / LIBRARY.name), VTRACE_QUIET="0")


def test_a_collector_that_has_not_begun_is_waited_for(tmp_path):
    """However slowly it starts; two seconds of it are much more than a program that waits for nobody has left."""
    gate = tmp_path / "gate"
    victim = by_another_collector(tmp_path, f'until [ -e "{gate}" ]; do sleep 0.02; done; exec "{VTRACE}" "$@"')
    try:
        assert victim.wait_until(lambda: victim.is_exiting)
        assert victim.wait_until(lambda: time.monotonic_ns() > victim.exit_time_ns + 2 * 10 ** 9)
        gate.touch()
        _, said = victim.process.communicate(timeout=TIMEOUT_S)
    finally:
        # Nothing is left behind of a test that fails.
        gate.touch()
        victim.kill()
    assert said.endswith("; run.db\nvtrace: next: vtrace report run.db | vtrace html run.db\n"), said
    finish(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == BEGIN + GIVEN_BACK


def test_a_collector_that_never_begins_is_not(tmp_path):
    victim = by_another_collector(tmp_path, "exit 1")
    _, said = victim.process.communicate(timeout=TIMEOUT_S / 2)
    assert said.endswith("; run.journal\nvtrace: next: vtrace report run.journal\n"), said
    finish(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == BEGIN + GIVEN_BACK


def test_a_cap_becomes_counted_loss(tmp_path):
    victim = Victim(tmp_path, 1, 120000, False, VTRACE_MAX_JOURNAL="13")
    _, said = victim.process.communicate(timeout=TIMEOUT_S)
    assert victim.process.returncode == 0
    assert said == PAUSED.format(victim.journal)
    assert victim.journal.stat().st_size < 13 * MIB
    run = finish(tmp_path)["run"]
    # Three chunks full of events, some records of stacks among them.
    assert 3 * 65536 / 2 - 3000 < run["events"] <= 3 * 65536 / 2
    calls = len(next(iter(read_books(tmp_path).values())))
    assert 0 < run["events"] + run["lost_events"] - calls <= MOST_SAMPLES
    assert run["recording_stopped"] == "File too large"


def query(folder, sql):
    with sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True) as database:
        return database.execute(sql).fetchall()


def do_a_line(victim):
    """10,000 allocations and as many frees of works_on_demand."""
    victim.process.stdin.write("\n")
    victim.process.stdin.flush()
    assert victim.process.stdout.readline() == "done\n"


def has_room(victim):
    """All is imported and given back, but for the chunk in use and the next."""
    return victim.imported >= victim.head and victim.journal.stat().st_blocks * 512 < 9 * MIB


def test_a_paused_recording_goes_on_when_the_collector_has_made_room(tmp_path):
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_MAX_JOURNAL="13")
    do_a_line(victim)
    collector = stop_collector(victim)
    # Each line takes 2.5 MiB.
    lines = 9
    for _ in range(lines - 1):
        do_a_line(victim)
    full = victim.head
    assert full * 64 <= 13 * MIB
    os.kill(collector, signal.SIGCONT)
    assert victim.wait_until(lambda: victim.imported >= full)
    # A moment later the program asks again whether there is room.
    deadline = time.monotonic() + TIMEOUT_S
    while victim.head == full:
        assert time.monotonic() < deadline
        do_a_line(victim)
        lines += 1
    assert victim.wait_until(lambda: has_room(victim))
    gained = victim.head
    for _ in range(3):
        do_a_line(victim)
        lines += 1
        assert victim.wait_until(lambda: has_room(victim))
    assert 0 <= victim.head - gained - 3 * 40000 <= 2 * MOST_SAMPLES
    _, said = victim.process.communicate(timeout=TIMEOUT_S)
    assert (victim.process.returncode, said) == (0, PAUSED.format(victim.journal))
    run = finish(tmp_path)["run"]
    assert run["ended"] == "exit 0" and "recording_stopped" not in run
    # Two allocations and looks at the device, the first at the beginning, a free at the end,
    # and where the gap ends, which says how large it is.
    gaps = query(tmp_path, "SELECT size_bytes FROM event JOIN operation o ON o.id = op WHERE o.name = 'loss'")
    assert sum(nr for nr, in gaps) == run["lost_events"] > 0
    assert 4 <= run["events"] + run["lost_events"] - lines * 20000 - len(gaps) <= 3 + MOST_SAMPLES
    # At the time of the event that it stands before.
    times = query(tmp_path, "SELECT l.time_ns, n.time_ns FROM event l JOIN operation o ON o.id = l.op"
                  " JOIN every_event n ON n.event = l.id + 1 WHERE o.name = 'loss'")
    assert len(times) == len(gaps) and all(loss == following for loss, following in times)
    # The gap may end between an allocation and its free.
    assert run["unknown_frees"] <= 1
    stacks = query(tmp_path, "SELECT min(id), max(id), count(*) FROM allocation GROUP BY native_stack ORDER BY 3 DESC")
    live = query(tmp_path, "SELECT size_bytes FROM allocation WHERE freed_event IS NULL")
    # Before and after the gap the same stack is the same.
    assert stacks[0][1] > run["events"] - 20 and len(stacks) <= 3
    # It may begin there, too: what was freed in it seems to be alive, and of neither was anything heard since.
    assert live in ([(1001,)], [(1001,), (6000,)])
    budget = tmp_path / "memory.toml"
    for fewer in (0, 1):
        budget.write_text(f"[recording]\nlost = {run['lost_events'] - fewer}\n")
        assert vtrace("check", tmp_path / "run.db", "--budget", budget).returncode == fewer
    report = vtrace("report", tmp_path / "run.db").stdout
    assert f"lost: {run['lost_events']:,} events were lost because the journal was full" in report
    assert re.search(rf"lost: {len(live)} allocations? \(.* since: whether they were freed is unknown", report)


def test_what_was_recycled_does_not_count(tmp_path):
    """A program that its collector keeps up with stays below a cap that its whole journal is far above."""
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_MAX_JOURNAL="17")
    for _ in range(14):
        do_a_line(victim)
        assert victim.wait_until(lambda: has_room(victim))
    _, said = victim.process.communicate(timeout=TIMEOUT_S)
    assert (victim.process.returncode, said) == (0, "")
    assert victim.head * 64 > 2 * 17 * MIB
    finish(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == [*BEGIN, *[("alloc", 6000), ("free", 6000)] * 140000, *GIVEN_BACK]


def test_the_option_is_the_variable(tmp_path):
    done = vtrace("run", "--no-collect", "--max-journal", 5, "-o", tmp_path / "run.db", "--", CLIENT,
                  tmp_path / "ledger", 1, 90000, env={"LD_LIBRARY_PATH": str(DRIVER_FOLDER)})
    assert done.returncode == 0 and "File too large" in done.stderr, done.stderr
    assert vtrace("run", "--max-journal", "much", "--", "true").returncode == 2
