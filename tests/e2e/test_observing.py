# SPDX-License-Identifier: MIT
"""What operators read and wrote: the rows against what the program itself knows of each call."""
import json

import pytest
from recording import PYTHON, WORKLOADS, record, record_python
from simulated import torch_python

BETWEEN = """SELECT b.event, min(e.event) FROM mark b JOIN mark e ON e.name = b.name AND e.event > b.event
    JOIN string s ON s.id = b.name WHERE s.text = ? AND b.kind = 2 AND e.kind = 3 GROUP BY b.event"""


@pytest.fixture(scope="module", params=[
    "this", *(pytest.param(version, marks=pytest.mark.full) for version in ("2.1.2", "2.6.0", "2.15.0")),
])
def run(request, tmp_path_factory):
    """Releases lay out a call and its values differently (preload/torch_values.c)."""
    folder = tmp_path_factory.mktemp("operators")
    python = PYTHON if request.param == "this" else torch_python(request.param)
    recording = record(folder, python, WORKLOADS / "observed_operators.py", folder / "facts.json")
    assert recording.process.returncode == 0, recording.process.stderr
    return json.loads((folder / "facts.json").read_text()), recording


def operators(recording, label):
    """Those that began inside the range of that name, as dictionaries, in the order of their beginning."""
    [(begin, end)] = recording.query(BETWEEN, label)
    columns = ("id", "event", "end_event", "thread", "parent", "name", "sequence", "node_class", "node_sequence")
    rows = recording.query("""SELECT o.id, event, end_event, thread, parent, s.text, sequence, c.text, node_sequence
        FROM operator o JOIN string s ON s.id = o.name LEFT JOIN string c ON c.id = o.node_class
        WHERE event >= ? AND event < ? ORDER BY o.id""", begin, end)
    return [dict(zip(columns, row)) for row in rows]


def tensors(recording, operator, is_output):
    return recording.query("""SELECT position, element, a.address, a.id FROM operator_tensor t
        LEFT JOIN allocation a ON a.id = t.allocation WHERE operator = ? AND is_output = ? ORDER BY t.rowid""",
                           operator["id"], is_output)


def one(recording, label, name):
    [found] = [o for o in operators(recording, label) if o["name"] == name]
    return found


LABELS = ("matrix product", "in place", "view", "list", "two results", "optional", "list of optionals",
          "from the host", "to the device", "lists", "other thread", "first", "second")


@pytest.mark.parametrize("label", LABELS)
def test_tensors_are_those_of_the_call(run, label):
    facts, recording = run
    call = facts["calls"][label]
    operator = one(recording, label, call["name"])
    given, returned = (tensors(recording, operator, is_output) for is_output in (0, 1))
    assert [list(t[:3]) for t in given] == call["given"]
    if call["returned"]:
        assert [list(t[:3]) for t in returned] == call["returned"]
    # Each lies in the allocation that was live then.
    for event, rows in ((operator["event"], given), (operator["end_event"], returned)):
        for *_, allocation in rows:
            assert recording.value("SELECT id <= ?2 AND ifnull(freed_event > ?2, 1) FROM allocation WHERE id = ?1",
                                   allocation, event) == 1


def test_what_touches_no_device_memory_is_left_out(run):
    assert operators(run[1], "nothing on the device") == []


def test_same_address_is_another_allocation(run):
    facts, recording = run
    assert facts["first"] == facts["second"]
    allocations = [tensors(recording, one(recording, label, "aten::neg"), 0)[0][3] for label in ("first", "second")]
    assert allocations[0] < allocations[1]


def test_operators_that_operators_call(run):
    _, recording = run
    to_copy = one(recording, "to the device", "aten::_to_copy")
    inner = one(recording, "to the device", "aten::copy_")
    assert inner["parent"] == to_copy["id"]


def test_function_written_in_python_has_its_name(run):
    facts, recording = run
    doubled = one(recording, "written in Python", "Doubled")
    assert [list(t[:3]) for t in tensors(recording, doubled, 0)] == facts["calls"]["written in Python"]["given"]
    assert one(recording, "written in Python", "aten::mul")["parent"] == doubled["id"]


def test_backward_operators_know_their_node_and_so_the_forward_one(run):
    _, recording = run
    product = one(recording, "forward", "aten::mm")
    assert product["node_class"] is None
    backward = [o for o in operators(recording, "backward") if o["node_class"] and "MmBackward0" in o["node_class"]]
    assert "aten::mm" in {o["name"] for o in backward}
    assert {o["node_sequence"] for o in backward} == {product["sequence"]}


def test_operator_that_fails_has_no_result(run):
    _, recording = run
    failed = one(recording, "out of memory", "aten::neg")
    assert len(tensors(recording, failed, 0)) == 1 and tensors(recording, failed, 1) == []
    assert failed["end_event"] is not None and failed["sequence"] is None


def test_thread_and_child(run):
    facts, recording = run
    assert one(recording, "other thread", "aten::exp")["thread"] == facts["threads"]["other"]
    assert facts["threads"]["other"] != facts["threads"]["main"]
    assert facts["child"] == 0


def test_every_tensor_is_in_an_allocation(run):
    assert run[1].value("SELECT count(*) FROM operator_tensor") > 100
    assert run[1].value("SELECT count(*) FROM operator_tensor WHERE allocation IS NULL") == 0


def test_what_repeats_is_not_observed(tmp_path):
    recording = record_python(tmp_path, "observed_steps.py", "100")
    assert recording.process.returncode == 0, recording.process.stderr
    steps = [len(operators(recording, f"step {step}")) for step in range(100)]
    assert all(nr == steps[5] for nr in steps[2:10]) and steps[5] > 20
    assert steps[60:] == [0] * 40
    # New stacks: all but the operators before the first block that has one.
    assert len([o for o in operators(recording, "evaluation") if o["name"] == "aten::linear"]) == 6


def test_program_does_the_same_unobserved(tmp_path):
    """The device's own ledger, and each block of the allocator in its order, by size and what freed it."""
    found = []
    for value in "01":
        folder = tmp_path / value
        folder.mkdir()
        recording = record_python(folder, "observed_steps.py", "4", options=("--observe", value, "--probe", "0"))
        assert recording.process.returncode == 0, recording.process.stderr
        assert (recording.value("SELECT count(*) FROM operator") > 0) == (value == "1")
        found.append(([(line.op, line.kind, line.size) for line in recording.read_ledger().recorded],
                      recording.query("""SELECT kind, address, size_bytes, freed_event, freed_node_sequence
                          FROM allocation ORDER BY id""")))
    assert found[0] == found[1]


MERGED = """
import torch
net = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).to("cuda", torch.bfloat16)
thin = [(torch.randn(256, 8, device="cuda"), torch.randn(8, 256, device="cuda")) for _ in net]
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(60):
    net(torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    merged = [one.weight + (up @ down).to(torch.bfloat16) * 2 for one, (up, down) in zip(net, thin)]
"""


def test_what_the_first_operator_of_something_new_made_is_no_batch(tmp_path):
    """It is not observed itself; a cast of what it made looks like the copy of a batch."""
    recording = record(tmp_path, PYTHON, "-c", MERGED)
    assert recording.process.returncode == 0, recording.process.stderr
    last = recording.value("SELECT max(id) FROM allocation")
    blocks = recording.blocks(f"event:{last}")["blocks"]
    merged = [b["owner"] for b in blocks if b["size_bytes"] == 2 * 256 * 256 and not b["owner"].startswith("weights/")]
    assert len(merged) >= 4 and set(merged) == {"user"}
