# SPDX-License-Identifier: MIT
"""tests/crash/scenes.c under the recorder, and what was recorded of it."""
import sqlite3

from recording import MARKERS, vtrace
from victim import DRIVER_FOLDER, PROGRAMS

SCENES, EARLY = PROGRAMS / "scenes", PROGRAMS / "libearly.so"
LATE = 3333
BEGIN = [("alloc", 1001), ("alloc", LATE)]
GIVEN_BACK = [("free", LATE)]


def calls_of(database, most_torn=0):
    """(operation, size) of the driver calls, in order; a free has the size of what it gives back. And the run."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute(f"SELECT op, size_bytes, address FROM driver_event WHERE op NOT IN {MARKERS}"
                                  " ORDER BY event").fetchall()
        run = dict(connection.execute("SELECT key, value FROM run"))
    sizes, calls = {}, []
    for op, size, address in rows:
        sizes[address] = size or sizes.get(address)
        calls.append((op, sizes[address]))
    assert run["lost_events"] == run["unknown_frees"] == "0" and int(run["torn_records"]) <= most_torn
    return calls, run


def perform(directory, scene, output="run.db", **extra):
    """The scene under `vtrace run`."""
    return vtrace("run", "-q", "-o", directory / output, "--", SCENES, scene, cwd=directory,
                  env={"LD_LIBRARY_PATH": str(DRIVER_FOLDER), **extra})
