# SPDX-License-Identifier: MIT
"""tests/keep/server.c: days of a server in a few seconds, with what the database said at each hour."""
import json
import sqlite3
import subprocess

from recording import BUILD, clean_environment, vtrace

SERVER = BUILD / "tests" / "keep" / "server"
HOURS = 168
MIB = 1 << 20


def serve(events, database, keep, hours=HOURS, at_hour=None):
    """(a row for each hour, the last row); figures that the ledger knows too are [ledger's, database's].

    at_hour(row) is called while the server stands at the end of that hour.
    """
    command = [SERVER, events, hours, database, *(["stops"] if at_hour else [])]
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=clean_environment({"VTRACE_KEEP": keep})) as running:
        rows = []
        for line in running.stdout:
            rows.append(json.loads(line))
            if at_hour and "hour" in rows[-1]:
                at_hour(rows[-1])
                running.stdin.write("\n")
                running.stdin.flush()
    assert running.returncode == 0
    return rows[:-1], rows[-1]


def figures_of(hour, side):
    return [value[side] for value in hour.values() if isinstance(value, list)]


def is_snapshot_right(database, hour, has_report):
    """Takes a snapshot: what lives in it, and with has_report the peak that `vtrace report` tells, are the ledger's."""
    snapshot = database.with_name("hour.db")
    done = vtrace("snapshot", "-o", snapshot, database)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(f"file:{snapshot}?mode=ro", uri=True) as connection:
        live, = connection.execute("SELECT sum(size_bytes) FROM allocation WHERE kind = 1 AND freed_event IS NULL"
                                   ).fetchone()
    is_right = live == hour["live"][0]
    if has_report:
        peak = peak_of(snapshot)
        is_right = is_right and (peak["event"], peak["allocated_bytes"]) == (hour["event_so_far"], hour["most_so_far"])
    snapshot.unlink()
    return is_right


def peak_of(database):
    done = vtrace("report", "--at", "most-allocated", "--json", database)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"][0]["peak"]
