# SPDX-License-Identifier: MIT
"""What a recording has at each place, by the identity of lines: the same line in two versions has one name."""
import collections
import re
import sqlite3

LIVE = """
SELECT a.size_bytes, coalesce(a.requested_bytes, a.size_bytes), a.python_stack, a.forward_python_stack,
    a.node_class IS NOT NULL
FROM allocation a JOIN peak p ON p.device = a.device JOIN memory_kind k ON k.id = a.kind
WHERE a.id <= p.max_allocated_event AND (a.freed_event IS NULL OR a.freed_event > p.max_allocated_event)
    AND (k.name = 'block' OR NOT EXISTS (SELECT 1 FROM memory_kind WHERE id = a.kind AND name IN
        ('segment', 'vmm', 'address', 'host', 'registered', 'managed', 'array', 'pool', 'device')))
"""


class Stacks:
    def __init__(self, connection):
        self.leaf = dict(connection.execute("SELECT id, leaf FROM python_stack"))
        self.node = {i: (parent, frame) for i, parent, frame in connection.execute("SELECT * FROM python_node")}
        self.frame = {i: (file, line) for i, file, line in connection.execute(
            "SELECT f.id, c.file, f.line FROM python_frame f JOIN python_code c ON c.id = f.code")}

    def frames(self, stack):
        """Files and lines, innermost first."""
        at = self.leaf.get(stack, 0)
        while at:
            at, frame = self.node[at]
            yield self.frame[frame]


def is_own(file, version):
    """Whether it is a file of the program; a path says where that ran."""
    return file.rsplit("/", 1)[-1] in version.files and "site-packages" not in file


def key_of(frames, version, is_backward):
    found = [version.id_at(file.rsplit("/", 1)[-1], line) for file, line in frames if is_own(file, version)]
    return is_backward, tuple(i for i in found if i is not None)


def is_engine_call(frames):
    file = next(iter(frames), ("",))[0]
    return not file or file.endswith(("/torch/autograd/graph.py", "/torch/autograd/__init__.py"))


def places(database, version):
    """Bytes by place, and what was asked for there: whether it is the backward of it, and the ids of the lines."""
    found = collections.defaultdict(lambda: (0, 0))
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        stacks = Stacks(connection)
        for size, asked, made, forward, has_node in connection.execute(LIVE):
            is_backward = bool(has_node and forward and is_engine_call(list(stacks.frames(made))))
            key = key_of(stacks.frames(forward if is_backward else made), version, is_backward)
            found[key] = found[key][0] + size, found[key][1] + asked
    return dict(found)


def total(found):
    return sum(size for size, _ in found.values())


def changes(base, new):
    """Where as much was asked for, a block that is larger by what was not cut off it is no change."""
    nothing = 0, 0
    return {key: new.get(key, nothing)[0] - base.get(key, nothing)[0] for key in base | new
            if new.get(key, nothing)[1] != base.get(key, nothing)[1]}


TEXT = re.compile(r"(?:backward of )?(.*?):(\d+) \S+$")


def key_of_texts(texts, version):
    """The same of a stack as `vtrace diff` writes it."""
    frames = [(m[1], int(m[2])) for m in map(TEXT.match, texts) if m]
    return key_of(frames, version, texts[0].startswith("backward of ") if texts else False)


def reported(device, base, new):
    """By place the bytes that differ, and which rows are said to be changes: opposite ones of one place are wrong."""
    rows = collections.defaultdict(lambda: (0, []))
    for place in device["places"]:
        side, stack = (new, place["new_stack"]) if place["new_stack"] else (base, place["base_stack"])
        key = key_of_texts(stack, side)
        changes_there = [place["change_bytes"]] if place["is_change"] else []
        rows[key] = rows[key][0] + place["change_bytes"], rows[key][1] + changes_there
    return dict(rows)
