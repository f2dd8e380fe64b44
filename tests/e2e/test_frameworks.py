# SPDX-License-Identifier: MIT
"""What the recorder writes about PyTorch and Python, read from the journal itself."""
import journal
import pytest
from recording import PYTHON
from simulated import torch_python, trace_python

GENERATED = "N5torch8autograd9generated"
PYTHON_NODE = "N5torch8autograd6PyNodeE"


@pytest.fixture(scope="module", params=[
    "this",
    pytest.param("2.6.0", marks=pytest.mark.full),
    pytest.param("2.15.0", marks=pytest.mark.full),
])
def run(request, tmp_path_factory):
    python = PYTHON if request.param == "this" else torch_python(request.param)
    return trace_python(tmp_path_factory.mktemp("frameworks"), "framework_events.py", python=python)


def blocks(events, size=None):
    """Blocks of a number of floats; a block is a multiple of 512 bytes."""
    wanted = None if size is None else -(-size * 4 // 512) * 512
    return [e for e in events if e.kind == "block" and wanted in (None, e.size_bytes)]


def node(text):
    return f"{GENERATED}{len(text)}{text}E"


def test_every_block_is_there(run):
    facts, written = run
    events = blocks(written.between("counting", "counted"))
    allocs = [e.size_bytes for e in events if e.op == "alloc"]
    frees = [e.size_bytes for e in events if e.op == "free"]
    assert facts["counts"] == {"nr_allocs": len(allocs), "nr_frees": len(frees), "alloc_bytes": sum(allocs),
                               "free_bytes": sum(frees)}
    assert written.header.lost_events == 0


def test_totals_are_the_allocators(run):
    facts, written = run
    last = blocks(written.between("counting", "counted"))[-1]
    assert (last.allocated_bytes, last.reserved_bytes) == (facts["allocated_bytes"], facts["reserved_bytes"])


def test_forward_names_its_modules(run):
    facts, written = run
    made = blocks(written.between("forward", "backward"))
    chains = [[f.self_type for f in written.frames(e) if f.self_type] for e in made]
    assert ["Linear"] * 3 + ["Block"] * 3 in chains
    assert len({f.self_address for e in made for f in written.frames(e) if f.self_type == "Block"}) == 1
    frame = next(f for f in written.frames(made[0]) if f.code.name.endswith("Block.forward") or f.code.name == "forward"
                 and f.self_type == "Block")
    assert frame.line == facts["block_line"]
    assert frame.code.file.endswith("framework_events.py")


def test_backward_names_its_nodes(run):
    facts, written = run
    forward = [e for e in blocks(written.between("forward", "backward"))
               if [f.self_type for f in written.frames(e)][:1] == ["Linear"]]
    backward = blocks(written.between("backward", "backward done"))
    assert node("AddmmBackward0") in {e.node_class for e in backward}
    assert node("GeluBackward0") in {e.node_class for e in backward}
    assert node("NativeLayerNormBackward0") in {e.node_class for e in backward}
    # The number ties a node to the forward operation that made it.
    assert {e.forward_sequence for e in forward} == {e.node_sequence for e in backward
                                                     if e.node_class == node("AddmmBackward0")}
    assert all(e.node_class == "" and e.node_sequence == journal.NONE for e in forward)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_exception_ends_the_node(run, device):
    _, written = run
    inside = blocks(written.between(f"failing on {device}", f"failed on {device}"), 1000)
    assert {e.node_class for e in inside} == {PYTHON_NODE}
    # A CPU node ran, and failed, on the thread that goes on here.
    after = blocks(written.between(f"failed on {device}", "after the failure"), 2000)
    assert after and {(e.node_class, e.node_sequence) for e in after} == {("", journal.NONE)}
    assert device == "cuda" or {e.thread for e in after} == {e.thread for e in inside}


def test_nested_backward_returns_to_the_outer_node(run):
    _, written = run
    classes = [e.node_class for e in blocks(written.between("checkpoint", "checkpoint done")) if e.node_class]
    assert {PYTHON_NODE, node("ReluBackward0"), node("AddmmBackward0")} <= set(classes)
    inner = [i for i, c in enumerate(classes) if c != PYTHON_NODE and c != node("SumBackward0")]
    assert PYTHON_NODE in classes[:inner[0]]
    assert PYTHON_NODE in classes[inner[-1] + 1:]


def test_ranges_become_scopes(run):
    _, written = run
    events = written.between("ranges", "ranges done")
    assert [blocks(events, size)[0].scope for size in (1000, 2000, 3000, 4000)] == ["outer", "inner", "outer", ""]


def test_ranges_nest_as_marks(run):
    _, written = run
    open_ranges = []
    for mark in (m for m in written.marks if m.source == "record_function"):
        if mark.kind == "begin":
            open_ranges.append(mark.name)
        else:
            assert open_ranges.pop() == mark.name
    assert open_ranges == []


def test_optimizer_and_its_ranges(run):
    _, written = run
    events = blocks(written.between("counting", "counted"))
    steps = [e for e in events if e.scope == "Optimizer.step#AdamW.step"]
    assert steps and all("AdamW" in {f.self_type for f in written.frames(e)} for e in steps if e.op == "alloc")
    assert {e.op for e in events if e.scope == "Optimizer.zero_grad#AdamW.zero_grad"} == {"free"}


def test_nvtx_ranges(run):
    _, written = run
    events = written.between("nvtx", "nvtx done")
    assert [blocks(events, size)[0].scope for size in (1000, 2000, 3000)] == ["Größe 模型", "", ""]
    marks = [(m.kind, m.name) for m in written.marks if m.source == "nvtx"]
    wanted = [("begin", "Größe 模型"), ("point", "a point"), ("end", "Größe 模型"), ("point", "may overlap"),
              ("point", "may overlap (end)")]
    assert [m for m in marks if m in wanted] == wanted


def test_profiler_still_gets_the_reports(run):
    facts, _ = run
    assert facts["profiled_bytes"] == 49664


def test_out_of_memory_is_reported_where_it_happened(run):
    facts, written = run
    reports = [e for e in written.between("out of memory", "out of memory done")
               if (e.op, e.kind) == ("out_of_memory", "block")]
    assert [e.size_bytes for e in reports] == [1 << 40]
    assert written.frames(reports[0])[0].line == facts["out_of_memory_line"]


def test_python_frames_without_pytorch(tmp_path):
    facts, written = trace_python(tmp_path, "driver_client.py")
    stacks = {e.size_bytes >> 20: written.frames(e) for e in written.events if e.op == "alloc"}
    top = {size: frames[1] for size, frames in stacks.items()}
    assert all(frames[0].code.name == "allocate" for frames in stacks.values())
    forward = next(f for f in stacks[1] if f.self_type)
    assert (forward.self_type, forward.self_address, forward.line) == ("Network", facts["network"],
                                                                     facts["lines"]["forward"])
    assert (top[2].code.name, top[2].line) == ("generator", facts["lines"]["generator"])
    assert (top[3].code.name, top[3].line) == ("in_thread", facts["lines"]["thread"])
    # Deeper than what is kept: the innermost frames are.
    assert [f.code.name for f in stacks[4][1:]] == ["recurse"] * 511
    assert written.info["python"].split(".")[0] == "3"


def test_python_that_never_touches_cuda_leaves_nothing(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.nn.Linear(4, 4)(torch.ones(4)).sum().backward()\n"
                                        "with torch.profiler.record_function('x'): pass\nprint(1)\n")
    from simulated import trace

    done, written = trace(tmp_path, PYTHON, "script.py")
    assert (done.returncode, done.stdout, done.stderr, written) == (0, "1\n", "", None)
    assert [p.name for p in tmp_path.iterdir()] == ["script.py"]
