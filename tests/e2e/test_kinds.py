# SPDX-License-Identifier: MIT
"""Every kind of memory that a program can get from the driver, each event, life and byte of it against the ledger."""
import collections

import pytest

from recording import BUILD, record

MIB = 1 << 20
PROGRAM = BUILD / "tests" / "workloads" / "driver_kinds"
# What the program does with each kind: changes of memory, ends with an owner, refused frees (and a cuCtxDetach that is
# not the context's last), changes on the device whose bytes the books are asked for (imported memory is no device's in
# the ledger).
Made = collections.namedtuple("Made", "changes ends refused booked")
KINDS = {"device": Made(6, 0, 3, 6), "host": Made(8, 0, 0, 0), "array": Made(6, 0, 1, 6), "context": Made(23, 9, 2, 22),
         "ipc": Made(9, 1, 2, 4), "external": Made(6, 0, 1, 0), "vmm": Made(17, 0, 1, 10), "pool": Made(8, 0, 1, 6),
         "kept": Made(25, 1, 0, 25), "graph": Made(5, 3, 0, 5), "module": Made(2, 0, 0, 2)}
# What the ledger has lines for; marks of pools, graphs and modules have none.
CHANGES = {"alloc", "free", "retain", "release", "map", "unmap", "reserve", "unreserve", "create", "destroy", "bind",
           "unbind"}
# What the ledger calls some kinds.
NAMES = {"device": "segment", "host": "pinned", "registered": "pinned"}


@pytest.fixture(scope="module", params=KINDS)
def used(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "ipc":
        assert record(directory, PROGRAM, "export", name="export.db").process.returncode == 0
        (directory / "ledger").unlink()
    recording = record(directory, PROGRAM, request.param)
    assert recording.process.returncode == 0, recording.process.stderr
    recording.made = KINDS[request.param]
    return recording


def recorded_lines(recording):
    """The ledger from the first line on that opens a recording; the end of a handle belongs to the line of its call."""
    lines = []
    for line in recording.read_ledger().lines:
        if line.op == "gone":
            lines[-1].used = line.used
        else:
            lines.append(line)
    return lines[next(i for i, line in enumerate(lines) if line.op in ("alloc", "reserve")):]


def words(line):
    return line.op, NAMES.get(line.kind, line.kind), line.function, line.pointer


def events(recording):
    """(number, what it did): without what a destroyed owner took with it, and without refused calls."""
    refused = {number for number, in recording.query("SELECT id FROM event WHERE op = 3")}
    taken = {number for number, in recording.query("SELECT id FROM event WHERE op = 15")}
    rows = recording.query("SELECT event, op, kind, function, address FROM driver_event ORDER BY event, op")
    failed = refused | {number - 1 for number in refused}
    return [(number, (op, kind, function, address)) for number, op, kind, function, address in rows
            if number not in failed and op in CHANGES and not (number in taken and op == "free")
            and (op not in ("create", "destroy") or kind == "context")]


def test_every_change_of_memory_is_an_event_and_no_other_is(used):
    lines = [words(line) for line in recorded_lines(used) if line.op != "freed-by-destroy"]
    assert [what for _, what in events(used)] == lines
    assert len(lines) == used.made.changes


def test_what_an_owner_holds_is_freed_by_its_end(used):
    ends = used.query("SELECT 'freed-by-destroy', k.name, f.name, a.address FROM allocation a"
                      " JOIN function f ON f.id = a.freed_function JOIN memory_kind k ON k.id = a.kind"
                      " JOIN event e ON e.id = a.freed_event WHERE e.op = 15")
    assert sorted(ends) == sorted(words(line) for line in recorded_lines(used) if line.op == "freed-by-destroy")
    assert len(ends) == used.made.ends


def test_refused_frees_are_told_and_end_nothing(used):
    bad = [line.split() for line in used.ledger.read_text().splitlines() if line.startswith("# bad-free")]
    told = used.query("SELECT f.name, e.address FROM event e JOIN function f ON f.id = e.function WHERE e.op = 3")
    assert len(told) == used.made.refused
    # The ledger has not all of those whose handle was wrong.
    assert {(function, int(pointer, 16)) for _, _, pointer, function in bad} <= set(told)
    live = used.value("SELECT count(*) FROM allocation WHERE freed_event IS NULL AND kind NOT IN (3, 13, 14)")
    lines = [line for line in recorded_lines(used) if line.kind not in ("vmm", "imported", "multicast")]
    assert live == sum(line.op == "alloc" for line in lines) - sum(
        line.op in ("free", "freed-by-destroy") for line in lines)


def memory_in_use(lines, context_bytes):
    """After each line, without the context: it takes its own bytes while there is one on the device."""
    nr_contexts, uses = 1, []
    for line in lines:
        if line.kind == "context":
            nr_contexts += {"create": 1, "destroy": -1}[line.op]
        uses.append(line.used - (context_bytes if nr_contexts else 0))
    return uses


def test_the_books_close_at_every_event_on_the_device(used):
    lines = recorded_lines(used)
    context_bytes = next(line.used for line in used.read_ledger().lines if line.kind == "context")
    uses = [use for line, use in zip(lines, memory_in_use(lines, context_bytes)) if line.op != "freed-by-destroy"]
    lines = [line for line in lines if line.op != "freed-by-destroy"]
    changes = events(used)
    assert len(changes) == len(lines) == len(uses)
    managed = nr_booked = 0
    for (number, what), line, use in zip(changes, lines, uses):
        if line.device < 0:
            continue
        # Nothing tells where managed memory is: here it counts to the device, in the simulator to the host.
        if line.kind == "managed":
            managed += line.size if line.op == "alloc" else -line.size
        managed *= what[1] != "context"
        peak = used.report("--at", f"event:{number}")["devices"][0]["peak"]
        assert peak["difference_bytes"] == 0
        assert sum(o["bytes"] for o in peak["owners"]) == peak["device_used_bytes"]
        assert peak["device_used_bytes"] - peak["context_bytes"] == use + managed, what
        nr_booked += 1
    assert nr_booked == used.made.booked


OWNERS = {"array": ("array", "array"), "ipc": ("ipc", "imported"), "external": ("external", "external")}


@pytest.mark.parametrize("used, kind", [(kind, kind) for kind in OWNERS], indirect=["used"])
def test_the_kind_tells_the_owner(used, kind):
    """Other memory has the function that asked for it."""
    first = used.value("SELECT min(a.id) FROM allocation a JOIN memory_kind k ON k.id = a.kind WHERE k.name = ?", kind)
    block = next(b for b in used.blocks(f"event:{first}")["blocks"] if b["id"] == first)
    assert (block["kind"], block["owner"], block["provenance"]) == (*OWNERS[kind], "frames")


MARKS = {
    "pool": [("create", "cuMemPoolCreate"), ("set", "cuMemPoolSetAttribute"), ("use", "cuDeviceSetMemPool"),
             ("use", "cuDeviceSetMemPool"), ("trim", "cuMemPoolTrimTo"),
             ("create", "cuMemPoolImportFromShareableHandle"), ("destroy", "cuMemPoolDestroy"),
             ("trim", "cuMemPoolTrimTo"), ("destroy", "cuMemPoolDestroy"), ("destroy", "cuMemPoolDestroy"),
             ("free_failed", "cuMemPoolDestroy")],
    "graph": [("free_node", "cuGraphAddMemFreeNode"), ("free_node", "cuGraphAddNode"),
              ("instantiate", "cuGraphInstantiateWithFlags"),
              ("capture_begin", "cuStreamBeginCapture_v2"), ("free_node", "cuMemFreeAsync"),
              ("capture_end", "cuStreamEndCapture"), ("instantiate", "cuGraphInstantiateWithFlags"),
              ("destroy", "cuGraphDestroy"), ("destroy", "cuGraphExecDestroy"), ("destroy", "cuGraphDestroy"),
              ("trim", "cuDeviceGraphMemTrim"), ("destroy", "cuGraphExecDestroy"), ("trim", "cuDeviceGraphMemTrim")],
    "module": [("load", "cuModuleLoadData"), ("unload", "cuModuleUnload"), ("load", "cuLibraryLoadData"),
               ("unload", "cuLibraryUnload"), ("set", "cuCtxSetLimit")],
}


@pytest.mark.parametrize("used, kind", [(kind, kind) for kind in MARKS], indirect=["used"])
def test_what_changes_memory_without_an_allocation_is_marked(used, kind):
    marks = used.query("SELECT o.name, f.name FROM event e JOIN operation o ON o.id = e.op"
                       " JOIN function f ON f.id = e.function WHERE o.name != 'memory_info' ORDER BY e.id")
    assert marks == MARKS[kind]


@pytest.mark.parametrize("used", ["pool"], indirect=True)
def test_memory_belongs_to_its_pool_whether_that_was_named_or_not(used):
    pool = used.value("SELECT address FROM event WHERE op = 16 ORDER BY id")
    usual = used.value("SELECT address FROM event WHERE op = 22 ORDER BY id DESC")
    assert pool != usual
    assert used.query("SELECT size_bytes, parent FROM allocation JOIN allocation_parent ON allocation = id"
                      " WHERE kind = 4 ORDER BY id") == [(32 << 20, usual), (64 << 20, pool), (32 << 20, pool)]


@pytest.mark.parametrize("used", ["kept"], indirect=True)
def test_what_is_kept_after_a_free_is_cached(used):
    """Chunks of 32 MiB; the owner is told, not a part of the context."""
    def cached(when):
        owners = used.report("--at", when)["devices"][0]["peak"]["owners"]
        return {o["owner"]: o["bytes"] // MIB for o in owners if o["owner"] in ("cached/pool", "cached/graph memory")}

    told = []
    for number, op in used.query("SELECT event, op FROM driver_event ORDER BY event"):
        if op != "memory_info" and told[-1:] != [cached(f"event:{number}")]:
            told.append(cached(f"event:{number}"))
    assert told == [{"cached/pool": 24}, {"cached/pool": 64}, {}, {"cached/pool": 22}, {"cached/pool": 26},
                    {"cached/pool": 36}, {"cached/pool": 4}, {}, {"cached/graph memory": 24},
                    {"cached/graph memory": 64}, {}, {"cached/pool": 24}, {"cached/pool": 64}]
    # The synchronisation is the last that the program does.
    assert cached("end") == {}


def test_the_first_sample_waits_for_the_end_of_a_capture(tmp_path):
    recording = record(tmp_path, PROGRAM, "capture")
    assert recording.process.returncode == 0, recording.process.stderr
    ops = [op for op, in recording.query("SELECT op FROM driver_event WHERE op != 'memory_info' OR kind = 'segment'"
                                         " ORDER BY event")]
    assert ops.count("memory_info") == 1 and ops.index("memory_info") > ops.index("capture_end"), ops


def test_no_pool_is_asked_while_a_stream_captures(tmp_path):
    """The question would make the capture invalid, and the program would fail."""
    recording = record(tmp_path, PROGRAM, "capture_with_pool")
    assert recording.process.returncode == 0, recording.process.stderr
    assert recording.value("SELECT count(*) FROM event WHERE op = 11 AND kind = 4") == 1
