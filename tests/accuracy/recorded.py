# SPDX-License-Identifier: MIT
"""The recording that is scored: its births in order, its stages, and books that are kept without vtrace's report."""
import bisect
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cached_property

from recording import MARKERS, read_ledger

BLOCK, DRIVER = ("block",), ("pool", "segment")
OF_KIND = "FROM allocation a JOIN memory_kind k ON k.id = a.kind"
RESYNC = 64  # births that one run may have and the other not, before it is the same again
LONG_RESYNC = 8192  # ... of one run alone: compiled code is tuned by as many launches as there is time for


class Recorded:
    def __init__(self, database):
        self.database = database

    def query(self, sql, *arguments):
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, arguments).fetchall()

    @cached_property
    def kinds(self):
        """What PyTorch's allocator hands out: its blocks, or the driver's allocations where it reports none."""
        held = {row[0] for row in self.query(f"SELECT DISTINCT k.name {OF_KIND}")}
        return BLOCK if held.intersection(BLOCK) else DRIVER

    def _select(self, columns, where="1", *arguments):
        kinds = ", ".join("?" * len(self.kinds))
        return self.query(f"SELECT {columns} {OF_KIND} WHERE k.name IN ({kinds}) AND {where}", *self.kinds, *arguments)

    def births(self, device):
        return self._select("a.id, a.size_bytes", "a.device = ? ORDER BY a.id", device)

    def devices(self):
        return [row[0] for row in self._select("DISTINCT a.device")]

    def stages(self):
        return [row[0] for row in self.query(
            "SELECT s.text FROM mark m JOIN string s ON s.id = m.name JOIN mark_source o ON o.id = m.source"
            " WHERE o.name = 'user' ORDER BY m.event")]


def fits(size, requested):
    """A block has the requested size rounded up, and up to 1 MiB more where the rest was not worth a block."""
    return requested <= size <= requested + 512 + (1 << 20)


def join(births, truth):
    """{event of a birth in the scored run: its truth}, by order; what only one of the runs has is left out."""
    joined, i, k = {}, 0, 0

    def agree(i, k, n):
        return all(fits(births[i + j][1], truth[k + j][0]) for j in range(n)
                   if i + j < len(births) and k + j < len(truth))

    def skips():
        yield from ((a, s - a) for s in range(1, RESYNC) for a in range(s + 1))
        for n in range(RESYNC, LONG_RESYNC):
            yield n, 0
            yield 0, n

    while i < len(births) and k < len(truth):
        if agree(i, k, 1):
            joined[births[i][0]] = truth[k]
            i, k = i + 1, k + 1
            continue
        step = next(((a, b) for a, b in skips() if agree(i + a, k + b, 8)), None)
        if step is None:
            break
        i, k = i + step[0], k + step[1]
    return joined


def books(recorded, ledger_path):
    """(largest difference in bytes over every event, how many events were looked at); infinite where events lack.

    Owners + cached + context is what is recorded: driver memory, with or without blocks in it, and the context.  So
    the recorded driver memory is held against the simulator's ledger at each driver event, and at each birth the live
    blocks and segments against what PyTorch's allocator says it has allocated and reserved.
    """
    ledger, nr_driver = against_ledger(recorded, read_ledger(ledger_path).lines)
    allocator, nr_births = against_allocator(recorded)
    return max(ledger, allocator), nr_driver + nr_births


def without_grown(lines):
    """(line, use of its device less what the context has grown by: modules, executable graphs, local memory) of each
    line that is recorded."""
    grown, found = Counter(), []
    for line in lines:
        if line.op in ("load", "unload"):
            grown[line.device] += line.size if line.op == "load" else -line.size
        elif line.is_recorded:
            found.append((line, line.used - grown[line.device]))
    return found


def against_ledger(recorded, lines):
    context = dict(recorded.query("SELECT id, context_bytes FROM device"))
    lines = without_grown(lines)
    events = recorded.query("SELECT op, kind, device, address, size_bytes FROM driver_event"
                            f" WHERE op NOT IN {MARKERS} ORDER BY event")
    if len(events) != len(lines):
        return float("inf"), 0
    held, worst = {}, 0
    for (op, kind, device, address, size), (line, line_used) in zip(events, lines):
        if kind in ("segment", "pool", "array"):
            if op == "alloc":
                held[device, address] = size
            elif op == "free":
                held.pop((device, address), None)
        elif kind == "vmm" and op in ("map", "unmap"):
            held[device, address] = size if op == "map" else 0
        used = sum(size for (on, _), size in held.items() if on == line.device)
        if line.kind in ("device", "pool", "vmm"):
            worst = max(worst, abs(used + (context.get(line.device) or 0) - line_used))
    return worst, len(lines)


def holds_any(starts, address, size, born, freed):
    """Whether blocks were cut out of it: what a library asked of the driver is not PyTorch's allocator's."""
    first, end = bisect.bisect_left(starts, (address, 0)), bisect.bisect_left(starts, (address + size, 0))
    return any(born < event and (freed is None or event < freed) for _, event in starts[first:end])


def against_allocator(recorded):
    rows = recorded.query("SELECT a.id, a.freed_event, k.name, a.device, a.address, a.size_bytes, a.allocated_bytes,"
                          " a.reserved_bytes FROM allocation a JOIN memory_kind k ON k.id = a.kind")
    starts = sorted((address, born) for born, _, kind, _, address, *_ in rows if kind == "block")
    events = []
    for born, freed, kind, device, address, size, allocated, reserved in rows:
        if kind == "block" or kind in ("segment", "vmm") and holds_any(starts, address, size, born, freed):
            events.append((born, kind, device, size, allocated, reserved))
            if freed is not None:
                events.append((freed, kind, device, -size, None, None))
    blocks, segments, worst, looked = {}, {}, 0, 0
    for _, kind, device, size, allocated, reserved in sorted(events, key=lambda e: (e[0], e[3] > 0)):
        total = blocks if kind == "block" else segments
        total[device] = total.get(device, 0) + size
        if kind == "block" and size > 0:
            looked += 1
            worst = max(worst, abs(blocks[device] - allocated), abs(segments.get(device, 0) - reserved))
    return worst, looked
