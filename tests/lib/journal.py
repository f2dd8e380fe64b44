# SPDX-License-Identifier: MIT
"""Reads a journal as common/journal_format.h lays it out, without any code of ours: for tests of the recorder.

Only what is there and valid is returned, in journal order; lines of Python frames are decoded with the
running Python's own rules, so the traced program and the test must use the same minor version.
"""
import pathlib
import re
import struct
import types
from dataclasses import dataclass, field

KINDS_H = pathlib.Path(__file__).resolve().parents[2] / "common" / "kinds.h"
HEADER_BYTES, SLOT_BYTES, CHUNK_SLOTS, HEAD_BYTES = 4096, 64, 65536, 16
PAD, INFO, STRING, MODULE, NATIVE_STACK, PYTHON_CODE, PYTHON_STACK, DEVICE, EVENT, MARK = range(1, 11)
NONE = 2 ** 64 - 1


def numbers(table):
    """Number -> text of one of the lists in kinds.h."""
    body = re.search(rf"#define {table}\(X\)(.*?)\n\n", KINDS_H.read_text(), re.S).group(1)
    return {int(number): text for number, text in re.findall(r'X\(\w+, (\d+), "(\w+)"[,)]', body)}


OPS, KINDS, MARK_KINDS, SOURCES = map(numbers, ("VT_OPS", "VT_KINDS", "VT_MARK_KINDS", "VT_MARK_SOURCES"))


@dataclass
class Code:
    file: str
    name: str
    first_line: int
    table: bytes
    python_minor: int

    def line(self, instruction):
        if self.python_minor < 10:
            line, address = self.first_line, 0
            for step, delta in zip(self.table[::2], self.table[1::2]):
                address += step
                if address > instruction:
                    break
                line += delta - 256 if delta >= 128 else delta
            return line
        # A code object of ours with their table: the interpreter decodes it.
        fields = {"co_code": bytes(1 << 18), "co_firstlineno": self.first_line, "co_linetable": self.table}
        code = (lambda: None).__code__.replace(**fields)
        return next((line for start, end, line in code.co_lines() if start <= instruction < end), None)


@dataclass
class Frame:
    code: Code
    instruction: int
    self_type: str
    self_address: int

    @property
    def line(self):
        return self.code.line(self.instruction)


@dataclass
class Journal:
    header: types.SimpleNamespace
    info: dict = field(default_factory=dict)
    strings: dict = field(default_factory=lambda: {0: ""})
    codes: dict = field(default_factory=dict)
    python_stacks: dict = field(default_factory=lambda: {0: []})
    native_stacks: dict = field(default_factory=lambda: {0: []})
    events: list = field(default_factory=list)
    marks: list = field(default_factory=list)
    order: list = field(default_factory=list)  # both, as they stand in the journal

    def frames(self, event):
        return self.stack(event.python_stack)

    def forward_frames(self, event):
        return self.stack(event.forward_python_stack)

    def stack(self, number):
        return [Frame(self.codes[code], instruction, self.strings[name], address)
                for code, instruction, name, address in self.python_stacks[number]]

    def between(self, first, last):
        """The events between two marks."""
        names = [getattr(x, "name", None) for x in self.order]
        start = names.index(first)
        return [x for x in self.order[start:names.index(last, start)] if not hasattr(x, "name")]


def commit_word(slot):
    return 0x80000001 | (slot * 0x9E3779B97F4A7C15 % 2 ** 64 >> 32 & 0x7FFFFFFE)


def records(data, head_slots):
    slot = 0
    while slot < head_slots:
        at = HEADER_BYTES + slot * SLOT_BYTES
        commit, _, nr_slots, kind = struct.unpack_from("<IIIH", data, at)
        if commit != commit_word(slot) or not 0 < nr_slots <= CHUNK_SLOTS:
            slot += 1
            continue
        yield kind, data[at + HEAD_BYTES:at + nr_slots * SLOT_BYTES]
        slot += nr_slots


def split(text, *lengths):
    at = 0
    for length in lengths:
        yield text[at:at + length]
        at += length


def read_event(body):
    names = ("time_ns thread op kind device function address size_bytes extra stream native_stack python_stack "
             "scope node_class node_sequence forward_sequence allocated_bytes reserved_bytes "
             "forward_python_stack").split()
    event = types.SimpleNamespace(**dict(zip(names, struct.unpack_from("<QIHHiIQQQQIIIIQQQQI", body))))
    event.op, event.kind = OPS[event.op], KINDS[event.kind]
    return event


def read(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"VACEJRNL", path
    head_slots, lost = struct.unpack_from("<QQ", data, 64)
    journal = Journal(types.SimpleNamespace(head_slots=head_slots, lost_events=lost))
    for kind, body in records(data, head_slots):
        if kind == INFO:
            key, value = split(body[8:], *struct.unpack_from("<II", body))
            journal.info[key.decode()] = value.decode(errors="replace")
        elif kind == STRING:
            number, length = struct.unpack_from("<II", body)
            journal.strings[number] = body[8:8 + length].decode()
        elif kind == PYTHON_CODE:
            number, first, minor, _, *lengths = struct.unpack_from("<IIHHIII", body)
            file, name, table = split(body[24:], *lengths)
            journal.codes[number] = Code(file.decode(), name.decode(), first, table, minor)
        elif kind == PYTHON_STACK:
            number, nr = struct.unpack_from("<II", body)
            frames = [struct.unpack_from("<IIIIQ", body, 8 + 24 * i) for i in range(nr)]
            journal.python_stacks[number] = [(f[0], f[1], f[2], f[4]) for f in frames]
        elif kind == NATIVE_STACK:
            number, nr = struct.unpack_from("<II", body)
            journal.native_stacks[number] = struct.unpack_from(f"<{nr}Q", body, 8)
        elif kind == EVENT:
            journal.events.append(read_event(body))
        elif kind == MARK:
            time_ns, thread, mark, source, name, stack = struct.unpack_from("<QIHHII", body)
            journal.marks.append(types.SimpleNamespace(time_ns=time_ns, thread=thread, kind=MARK_KINDS[mark],
                                                       source=SOURCES[source], name=name, python_stack=stack))
        if kind in (EVENT, MARK):
            journal.order.append((journal.events if kind == EVENT else journal.marks)[-1])
    # Definitions may stand after their first use.
    for event in journal.events:
        event.scope, event.node_class = journal.strings[event.scope], journal.strings[event.node_class]
    for mark in journal.marks:
        mark.name = journal.strings[mark.name]
    return journal
