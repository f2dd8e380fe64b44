# SPDX-License-Identifier: MIT
"""Where memory is given back has a memory of stacks of its own: each free carries the stack that it stood under."""
import json

from recording import record_python

FRAMES = """WITH RECURSIVE walk(node, parent, frame, depth) AS (
    SELECT n.id, n.parent, n.frame, 0 FROM python_stack s JOIN python_node n ON n.id = s.leaf WHERE s.id = ?
    UNION ALL
    SELECT n.id, n.parent, n.frame, depth + 1 FROM walk w JOIN python_node n ON n.id = w.parent)
SELECT replace(c.name, rtrim(c.name, replace(c.name, '.', '')), ''), f.line
    FROM walk w JOIN python_frame f ON f.id = w.frame JOIN python_code c ON c.id = f.code ORDER BY depth"""


def test_a_free_carries_the_stack_that_it_stood_under(tmp_path):
    recording = record_python(tmp_path, "stacks_of_frees.py")
    assert recording.process.returncode == 0, recording.process.stderr
    told = {int(size): [tuple(frame) for frame in frames]
            for size, frames in json.loads(recording.process.stdout).items()}
    rows = dict(recording.query("SELECT requested_bytes, freed_python_stack FROM allocation"
                                " WHERE requested_bytes > 0 ORDER BY id"))
    # Sizes are unique, so a size is an allocation.
    assert len(told) > 300 and set(told) <= set(rows)
    different = [size for size in told if recording.query(FRAMES, rows[size]) != told[size]]
    assert different == []
