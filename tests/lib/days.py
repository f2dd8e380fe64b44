# SPDX-License-Identifier: MIT
"""tests/keep/server.c: days of a server in a few seconds, with what the database said at each hour."""
import json
import subprocess

from recording import BUILD, TIMEOUT_S, clean_environment

SERVER = BUILD / "tests" / "keep" / "server"
HOURS = 168
MIB = 1 << 20


def serve(events, database, keep, hours=HOURS):
    """(a row for each hour, the last row); figures that the ledger knows too are [ledger's, database's]."""
    done = subprocess.run([SERVER, str(events), str(hours), str(database)], capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S * 10, env=clean_environment({"VTRACE_KEEP": keep}))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows[:-1], rows[-1]


def figures_of(hour, side):
    return [value[side] for value in hour.values() if isinstance(value, list)]
