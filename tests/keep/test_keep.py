# SPDX-License-Identifier: MIT
"""`--keep`: a recording of any length within its bound, right by the ledger, and said to be folded."""
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

from days import HOURS, MIB, SERVER, figures_of, is_snapshot_right, peak_of, serve
from recording import TIMEOUT_S, clean_environment, vtrace
from scenes import SCENES
from victim import Victim, finish

EVENTS = 3_000_000


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """A server's week, kept within 64 MiB: (what it printed for each hour, its last line, the database).

    A snapshot is taken at the end of each day; "is_right" of that hour is what it was.
    """
    database = tmp_path_factory.mktemp("week") / "run.db"

    def at_hour(hour):
        if hour["hour"] % 24 == 0:
            hour["is_right"] = is_snapshot_right(database, hour, True)

    return (*serve(EVENTS, database, "64MiB", at_hour=at_hour), database)


def query(database, sql):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return connection.execute(sql).fetchall()


def test_each_hour_is_right_by_the_ledger(week):
    hours, _, _ = week
    assert len(hours) == HOURS
    assert [hour for hour in hours if figures_of(hour, 0) != figures_of(hour, 1)] == []


def test_the_peak_of_an_hour_that_is_folded_is_still_right(week):
    hours, end, database = week
    folded = int(query(database, "SELECT value FROM run WHERE key = 'folded_event'")[0][0])
    assert EVENTS / 10 < folded < EVENTS
    rows = {period: (event, most) for period, event, most in
            query(database, "SELECT period, max_allocated_event, max_allocated_bytes FROM period_peak")}
    for hour in hours:
        assert rows[hour["hour"]] == (hour["event"][0], hour["most"][0])
        live = query(database, "SELECT sum(size_bytes) FROM allocation WHERE kind = 1 AND id <= {0} AND"
                     " (freed_event IS NULL OR freed_event > {0})".format(hour["event"][0]))
        assert live == [(hour["most"][0],)]
    assert query(database, "SELECT sum(allocations + frees + failed_requests), sum(failed_requests) FROM period") == \
        [(end["events"] - query(database, "SELECT sum(marks) FROM period")[0][0] - end["infos"], end["failures"])]


def test_a_snapshot_is_right_by_the_ledger(week):
    assert [hour["is_right"] for hour in week[0] if "is_right" in hour] == [True] * 7


def test_the_bound_holds(week):
    _, end, _ = week
    # The journal's part is not the database's.
    assert end["disk"] + 16 * MIB <= 64 * MIB


def test_the_report_is_right_by_the_ledger(week):
    _, end, database = week
    peak = peak_of(database)
    assert (peak["event"], peak["allocated_bytes"]) == (end["event"], end["most"])
    assert sum(row["bytes"] for row in peak["owners"] if not row["owner"].startswith(("cached", "CUDA"))) >= end["most"]
    blocks = json.loads(vtrace("blocks", "--at", "end", "--json", database).stdout)["blocks"]
    assert sum(block["size_bytes"] for block in blocks if block["kind"] == "block") == end["live"]


@pytest.mark.parametrize("command", [["report"], ["leaks"], ["frag"], ["oom"], ["whatif", "--expandable"], ["info"],
                                     ["report", "--json"], ["leaks", "--json"], ["frag", "--json"], ["oom", "--json"],
                                     ["diff"], ["diff", "--json"]])
def test_no_command_presents_it_as_complete(week, command):
    database = week[2]
    done = vtrace(*command, database, *([database] if "diff" in command else []))
    assert done.returncode == 0, done.stderr
    assert "discarded (--keep" in done.stdout, done.stdout


def test_a_moment_that_is_folded_is_refused(week):
    hours, _, database = week
    done = vtrace("blocks", "--at", f"event:{hours[2]['event'][0] + 1}", database)
    assert done.returncode == 3 and "were discarded (--keep)" in done.stderr, done.stderr
    assert vtrace("blocks", "--at", f"event:{hours[2]['event'][0]}", database).returncode == 0


def test_a_block_that_is_folded_and_a_file_that_lacks_it_say_so(week, tmp_path):
    gone = query(week[2], "SELECT max(id) + 1 FROM allocation WHERE id < 200000")[0][0]
    done = vtrace("explain", week[2], gone)
    assert done.returncode == 3 and f"block {gone} was discarded (--keep), or never existed: details " in done.stderr
    done = vtrace("export", "--format", "chrome", "-o", tmp_path / "trace.json", week[2])
    assert done.returncode == 0 and " were discarded (--keep 64MiB)" in done.stderr, done.stderr


def test_a_time_is_kept_too(tmp_path):
    hours, _ = serve(EVENTS, tmp_path / "run.db", "24h")
    assert [hour for hour in hours if figures_of(hour, 0) != figures_of(hour, 1)] == []
    (horizon,), (end,) = query(tmp_path / "run.db", "SELECT max(id, 0) FROM (SELECT value AS id FROM run WHERE key ="
                               " 'folded_time_ns') UNION ALL SELECT max(time_ns) FROM allocation")
    # Not sooner, and later by no more than the events that stay for their frees.
    assert 24 * 3600 * 10**9 <= int(end) - int(horizon) < 36 * 3600 * 10**9


def test_rows_that_stay_are_as_they_were(tmp_path):
    """What they are differences from stays with them, and goes with what is deleted."""
    whole, kept = tmp_path / "whole.db", tmp_path / "kept.db"
    serve(EVENTS // 10, whole, "1000h")
    serve(EVENTS // 10, kept, "24h")
    rows = dict((row[0], row) for row in query(whole, "SELECT * FROM allocation"))
    stayed = query(kept, "SELECT * FROM allocation")
    assert 1000 < len(stayed) < len(rows) - 1000
    assert [row for row in stayed if row != rows[row[0]]] == []
    assert query(kept, "SELECT count(*) FROM allocation_base b LEFT JOIN allocation_row r ON r.id >> 8 = b.id"
                 " WHERE r.id IS NULL") == [(0,)]
    (few,), (all_,) = (query(database, "SELECT count(*) FROM allocator_reserved")[0] for database in (kept, whole))
    assert few < all_ == HOURS


def test_it_can_be_killed_in_a_fold(week, tmp_path):
    """SIGKILL at any moment; begun again, it ends as the run that nobody killed."""
    hours, end, _ = week
    database = tmp_path / "run.db"
    for number in range(4):
        running = subprocess.Popen([SERVER, str(EVENTS), str(HOURS), str(database)], stdout=subprocess.DEVNULL,
                                   env=clean_environment({"VTRACE_KEEP": "64MiB"}))
        # In the part that folds: from the first two thirds on.
        while running.poll() is None and imported_of(database) < EVENTS * (0.75 + number * 0.05):
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        assert query(database, "PRAGMA integrity_check") == [("ok",)]
    rest, last = serve(EVENTS, database, "64MiB")
    assert [hour for hour in rest if figures_of(hour, 0) != figures_of(hour, 1)] == []
    assert rest and figures_of(rest[-1], 1) == figures_of(hours[-1], 1)
    assert {key: last[key] for key in ("live", "most", "event")} == {key: end[key] for key in ("live", "most", "event")}
    assert query(database, "SELECT sum(allocations), sum(frees), sum(failed_requests), count(*) FROM period") == \
        query(week[2], "SELECT sum(allocations), sum(frees), sum(failed_requests), count(*) FROM period")


def test_hours_become_pairs_with_the_higher_peaks_of_both(tmp_path):
    database = tmp_path / "run.db"
    hours, end = serve(EVENTS, database, "64MiB", 400)
    assert len(hours) == 400 and [hour for hour in hours if figures_of(hour, 0) != figures_of(hour, 1)] == []
    rows = query(database, "SELECT id, first_event, last_event, allocations, failed_requests, max_allocated_event,"
                 " max_allocated_bytes FROM period JOIN period_peak ON period = id ORDER BY id")
    assert 400 / 2 <= len(rows) <= 336 and rows[0][0] == 1
    assert [row[1] for row in rows[1:]] == [row[2] + 1 for row in rows[:-1]] and rows[-1][2] == end["events"]
    for number, (first, _, _, allocations, failed, event, most) in enumerate(rows):
        after = rows[number + 1][0] if number + 1 < len(rows) else 401
        own = [hour for hour in hours if first <= hour["hour"] < after]
        assert (allocations, failed) == (sum(hour["allocations"][0] for hour in own),
                                         sum(hour["failures"][0] for hour in own))
        assert most == max(hour["most"][0] for hour in own)
        assert event in [hour["event"][0] for hour in own if hour["most"][0] == most]
        live = query(database, "SELECT sum(size_bytes) FROM allocation WHERE kind = 1 AND id <= {0} AND"
                     " (freed_event IS NULL OR freed_event > {0})".format(event))
        assert live == [(most,)]


def test_who_takes_it_up_keeps_the_bound(tmp_path):
    """The collector is killed, and the next command has no VTRACE_KEEP."""
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_KEEP="64MiB")
    work(victim, 110)
    folded = query(tmp_path / "run.db", "SELECT value FROM run WHERE key = 'folded_event'")
    os.kill(victim.importer, signal.SIGKILL)
    for _ in range(3):
        victim.process.stdin.write("\n")
        victim.process.stdin.flush()
        assert victim.process.stdout.readline() == "done\n"
    assert victim.end() == 0
    run = finish(tmp_path)["run"]
    assert run["folded_event"] > int(folded[0][0]) and run["lost_events"] == 0
    assert query(tmp_path / "run.db", "SELECT sum(allocations) / 10000 FROM period") == [(113,)]
    assert disk_of(tmp_path) <= 48 * MIB


def imported_of(database):
    try:
        return int(query(database, "SELECT value FROM run WHERE key = 'events'")[0][0])
    except (sqlite3.Error, IndexError):
        return 0


def disk_of(folder):
    return sum(path.stat().st_blocks * 512 for path in folder.glob("run.*") if path.exists())


def work(victim, lines):
    """20,000 events a line, no faster than they are imported where `is_waiting`.  Returns the most disk seen."""
    most = 0
    for _ in range(lines):
        victim.process.stdin.write("\n")
        victim.process.stdin.flush()
        assert victim.process.stdout.readline() == "done\n"
        head = victim.head
        victim.wait_until(lambda head=head: victim.imported >= head)
        most = max(most, disk_of(victim.directory))
    return most


def test_a_program_that_is_preloaded_stays_within_it(tmp_path):
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_KEEP="64MiB")
    assert work(victim, 130) <= 64 * MIB
    assert victim.end() == 0
    run = finish(tmp_path)["run"]
    database = tmp_path / "run.db"
    assert (run["keep"], run["lost_events"], run["reused_addresses"], run["unknown_frees"]) == ("64MiB", 0, 0, 0)
    assert run["events"] // 8 < run["folded_event"] < run["events"]
    assert query(database, "SELECT sum(allocations) - sum(frees), sum(allocations) / 10000 FROM period") == [(1, 130)]
    assert query(database, "SELECT count(*) FROM allocation WHERE freed_event IS NULL AND kind = 2") == [(1,)]


def test_the_bound_holds_while_somebody_reads_without_an_end(tmp_path):
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_KEEP="64MiB")
    work(victim, 1)
    reader = sqlite3.connect(f"file:{tmp_path / 'run.db'}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM allocation").fetchall()
    most, log = 0, tmp_path / "run.db-wal"
    for _ in range(60):
        victim.process.stdin.write("\n")
        victim.process.stdin.flush()
        assert victim.process.stdout.readline() == "done\n"
        victim.wait_until(lambda: victim.imported >= victim.head or log.stat().st_size > 8 * MIB)
        most = max(most, disk_of(tmp_path))
    assert victim.imported < victim.head and log.stat().st_size > 8 * MIB
    reader.close()
    most = max(most, work(victim, 20))
    assert victim.end() == 0
    run = finish(tmp_path)["run"]
    assert most <= 64 * MIB and run["lost_events"] > 0
    # Each allocation and each free was recorded, or lost and counted.
    assert 81 * 20000 <= run["events"] + run["lost_events"] <= 81 * 20000 + 100
    assert query(tmp_path / "run.db", "SELECT sum(lost_events) FROM period") == [(run["lost_events"],)]


def page_table_kib(victim):
    with open(f"/proc/{victim.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmPTE:"))


def test_the_program_keeps_no_page_tables_of_what_is_imported(tmp_path):
    victim = Victim(tmp_path, command=(SCENES, "works_on_demand"), VTRACE_KEEP="64MiB")
    work(victim, 30)
    before = page_table_kib(victim)
    work(victim, 60)
    # 150 MiB of journal more: 300 KiB of tables.
    assert page_table_kib(victim) <= before + 128
    assert victim.end() == 0
    assert finish(tmp_path)["run"]["lost_events"] == 0


@pytest.mark.parametrize("amount", ["", "much", "1MiB", "24", "0h", "-1h", "24h ", "1e99GiB", "999999999d"])
def test_wrong_amounts_are_wrong_usage(tmp_path, amount):
    done = vtrace("run", "--keep", amount, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"vtrace run: --keep {amount}: not a size of at least 64MiB"), done.stderr


def test_a_wrong_variable_is_said_and_ignored(tmp_path):
    victim = Victim(tmp_path, 1, 100, VTRACE_KEEP="much", VTRACE_QUIET="0")
    _, said = victim.process.communicate(timeout=TIMEOUT_S)
    assert said.startswith("vtrace: VTRACE_KEEP is not a size of at least 64MiB (2GiB) or a time"), said
    assert "keep" not in finish(tmp_path)["run"]
