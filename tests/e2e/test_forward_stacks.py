# SPDX-License-Identifier: MIT
"""Where the forward call stood whose node made or freed a block: the journal against what the modules noted."""
import journal
import pytest
from recording import PYTHON
from simulated import torch_python, trace_python

CHECKPOINT = "N5torch8autograd6PyNodeE"


@pytest.fixture(scope="module", params=[
    "this",
    pytest.param("2.6.0", marks=pytest.mark.full),
    pytest.param("2.15.0", marks=pytest.mark.full),
])
def run(request, tmp_path_factory):
    python = PYTHON if request.param == "this" else torch_python(request.param)
    return trace_python(tmp_path_factory.mktemp("forward"), "forward_stacks.py", python=python)


def innermost_call(calls, is_thread, number):
    """The address of the module whose call made the node, None where it was made outside of all."""
    around = [(end - start, module) for module, _, thread, start, end in calls
              if is_thread(thread) and start < number < end]
    return min(around)[1] if around else None


def node_events(written, name):
    events = [e for e in written.between(name, f"{name} done") if e.kind == "block" and e.node_sequence != journal.NONE]
    assert {e.op for e in events} == {"alloc", "free"}
    return events


def modules(written, event):
    """Addresses of the modules whose forward() is in the forward stack, innermost first."""
    return [f.self_address for f in written.forward_frames(event)
            if f.self_type and f.code.name.rpartition(".")[2] == "forward"]


def next_or_none(addresses):
    return addresses[0] if addresses else None


@pytest.mark.parametrize("name", ["plain", "first", "second", "not reentrant", "custom"])
def test_node_carries_the_module_that_made_it(run, name):
    facts, written = run
    events = node_events(written, name)
    truth = [innermost_call(facts[name], lambda thread: thread == facts["main thread"], e.node_sequence)
             for e in events]
    assert len(set(truth)) > 2
    assert [next_or_none(modules(written, e)) for e in events] == truth


def test_recomputed_nodes_carry_their_own_call(run):
    """Checkpointing makes nodes on the engine's thread, with numbers that the main thread gave too."""
    facts, written = run
    events = node_events(written, "reentrant")
    inner = [bool(written.frames(e)) and e.node_class != CHECKPOINT for e in events]
    truth = [innermost_call(facts["reentrant"], lambda thread: (thread != facts["main thread"]) == is_inner,
                            e.node_sequence) for e, is_inner in zip(events, inner)]
    assert any(inner) and not all(inner)
    assert None not in [module for module, is_inner in zip(truth, inner) if is_inner]
    assert [next_or_none(modules(written, e)) for e in events] == truth


def test_node_made_by_a_node_belongs_to_its_call(run):
    facts, written = run
    events = [e for e in node_events(written, "penalty") if "BackwardBackward" in e.node_class or "Mm" in e.node_class]
    names = {module: name for module, name, *_ in facts["penalty"]}
    found = {("BackwardBackward" in e.node_class, names[next_or_none(modules(written, e))]) for e in events}
    assert found == {(True, "GELU"), (False, "Linear")}


def test_threads_that_give_the_same_numbers(run):
    facts, written = run
    for width, model in facts["widths"].items():
        sizes = {32 * 4 * int(width), 64 * 4 * int(width)}
        events = [e for e in node_events(written, "threads") if e.op == "alloc" and e.size_bytes in sizes]
        assert len(events) >= 3
        assert {modules(written, e)[-1] for e in events} == {model}


def test_what_is_not_made_by_a_node_has_no_forward_stack(run):
    _, written = run
    assert {e.forward_python_stack for e in written.events if not e.node_class} == {0}
