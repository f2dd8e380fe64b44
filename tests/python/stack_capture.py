# SPDX-License-Identifier: MIT
"""
What the situations of stack_program.py share: capturing a stack with the recorder's code and with the interpreter, and
comparing the two. The library of the first is the program's first argument.
"""
import ctypes
import dis
import functools
import sys

MOST_FRAMES = 512


class Frame(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint32), ("instruction", ctypes.c_uint32), ("self_type", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("self_address", ctypes.c_uint64)]


probe = ctypes.CDLL(sys.argv[1])
probe.probe_code.restype = probe.probe_string.restype = ctypes.c_void_p
probe.probe_version.restype = ctypes.c_char_p
probe.probe_time.restype = ctypes.c_double
probe.probe_count.restype = ctypes.c_size_t
probe.probe_key.restype = ctypes.c_uint64
assert probe.probe_start() == 0

failures = []


def check(situation, condition, what=""):
    if not condition:
        failures.append(situation)
        print(f"WRONG {situation}: {what}")


@functools.lru_cache(None)
def string(number):
    address = probe.probe_string(number)
    length = ctypes.c_uint32.from_address(address + 20).value
    return ctypes.string_at(address + 24, length).decode()


@functools.lru_cache(None)
@functools.lru_cache(None)
def code_of(number):
    """(file, name, first line, line table, Python's minor version) of a code record."""
    address = probe.probe_code(number)
    first = ctypes.c_uint32.from_address(address + 20).value
    minor = ctypes.c_uint16.from_address(address + 24).value
    lengths = [ctypes.c_uint32.from_address(address + 28 + 4 * i).value for i in range(3)]
    text = ctypes.string_at(address + 40, sum(lengths))
    file, name, table = (text[sum(lengths[:i]):sum(lengths[:i + 1])] for i in range(3))
    return file.decode(), name.decode(), first, table, minor


def capture():
    """(captured frames, the interpreter's own frames), both without this function."""
    frames = (Frame * MOST_FRAMES)()
    number = probe.probe_capture(frames)
    own, frame = [], sys._getframe(1)
    while frame:
        own.append((frame.f_code, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return frames[1:number], own


def line_at(code, instruction):
    """What PyCode_Addr2Line would say."""
    if hasattr(code, "co_lines"):
        found = [line for start, end, line in code.co_lines() if start <= instruction < end]
        return found[-1] if found else None
    found = [line for start, line in dis.findlinestarts(code) if start <= instruction]
    return found[-1] if found else code.co_firstlineno


def clean(text):
    """As the recorder writes it: a lone surrogate is no character."""
    return "".join("\ufffd" if 0xd800 <= ord(c) < 0xe000 else c for c in text)


def compare(situation, captured, own):
    """Everything about every frame but `self`."""
    check(situation, len(captured) == min(len(own), MOST_FRAMES - 1), f"{len(captured)} of {len(own)} frames")
    for depth, (got, (code, lasti, line)) in enumerate(zip(captured, own)):
        file, name, first, table, minor = code_of(got.code)
        check(situation, file == clean(code.co_filename), f"file {file!r}, not {code.co_filename!r}")
        wanted = clean(getattr(code, "co_qualname", code.co_name))
        check(situation, name == wanted, f"name {name!r}, not {wanted!r}")
        check(situation, first == code.co_firstlineno, f"first line {first}")
        check(situation, minor == sys.version_info[1], f"minor {minor}")
        wanted = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
        check(situation, table == wanted[:len(table)] and len(table) >= min(len(wanted), 50000), "line table")
        check(situation, line_at(code, got.instruction) == line, f"line of {got.instruction} in {name}, not {line}")
        # The innermost has gone on from one call to the next since.
        if depth > 0:
            check(situation, got.instruction == lasti, f"instruction {got.instruction}, not {lasti}, in {name}")


def situation(function):
    """Runs a situation: what it returns is compared; more is checked inside."""
    before = len(failures)
    result = function()
    if result is not None:
        compare(function.__name__, *result)
    if len(failures) == before:
        print(f"ok {function.__name__}")
    return function


def selves(captured):
    return [(string(f.self_type), f.self_address) for f in captured if f.self_type]


class Module:
    """Stands for torch.nn.Module: the recorder goes by the name."""

    def run(self):
        return capture()

    def run_in_cell(self, *args, **kwargs):
        def inner():
            return capture(), self
        return inner()[0]


class Optimizer:
    def step(self):
        return capture()


class Mixin:
    pass


class Linear(Module):
    pass


class Block(Mixin, Linear):
    def run(self):
        return super().run()


class Plain:
    def run(self):
        return capture()


Übergang = type("Übergang", (Module,), {})
