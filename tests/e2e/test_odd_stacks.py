# SPDX-License-Identifier: MIT
"""Stacks that could lie are marked: those that were cut, and those that run through code of no file."""
import platform

import pytest

from recording import BUILD, record, record_python

MIB = 1 << 20
CUT = "[truncated here, callers are unknown]"
MADE = "[code outside any file, callers are guessed]"


@pytest.fixture(scope="module")
def stacks(tmp_path_factory):
    """{MiB: native frames} of the workload's allocations."""
    recording = record(tmp_path_factory.mktemp("odd"), BUILD / "tests" / "workloads" / "odd_stacks")
    assert recording.process.returncode == 0, recording.process.stderr
    found = {b["size_bytes"] // MIB: b["native"] for b in recording.blocks("end", "--all-frames")["blocks"]}
    assert sorted(found) == [3, 5, 7, 9, 11, 13]
    return found


def test_a_whole_stack_has_no_mark(stacks):
    assert "_start" in stacks[7][-1]
    assert not [frame for frame in stacks[7] if frame.startswith("[")]


def test_a_stack_deeper_than_the_limit_is_marked(stacks):
    # VTRACE_STACKS frames, and the mark.
    assert len(stacks[5]) == 128 + 1 and stacks[5][-1] == CUT
    assert not [frame for frame in stacks[5][:-1] if frame.startswith("[")]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the made code is x86-64")
def test_a_stack_through_code_made_at_run_time_is_marked(stacks):
    assert "!take" in stacks[3][0] and stacks[3][1].startswith(MADE)
    # Its frame pointer leads nowhere, which the unwinder takes for the end.
    assert stacks[3][2:] == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the function is in assembly")
def test_a_stack_that_cannot_be_followed_to_its_end_is_marked(stacks):
    assert "!take" in stacks[9][0] and "!misled" in stacks[9][1]
    assert stacks[9][2:] == [CUT]


def test_a_library_in_the_place_of_another_has_its_own_frames(stacks):
    assert "!take" in stacks[13][0] and "libframe_library_2.so!through" in stacks[13][1]
    assert "libframe_library_1.so!through" in stacks[11][1]
    callers = [[frame.split(" ")[0] for frame in stacks[size][2:]] for size in (11, 13)]
    assert callers[0] == callers[1] and "_start" in callers[1][-1]


def test_a_stack_cut_by_the_option_is_marked(tmp_path):
    recording = record(tmp_path, BUILD / "tests" / "workloads" / "odd_stacks", options=("--stacks", "1"))
    block = recording.blocks("end", "--all-frames")["blocks"][0]
    assert len(block["native"]) == 2 and block["native"][-1] == CUT
    assert recording.query("SELECT DISTINCT depth FROM native_stack") == [(1,)]


def test_a_python_stack_deeper_than_what_is_kept_is_marked(tmp_path):
    program = tmp_path / "deep.py"
    program.write_text("""\
import ctypes, sys
sys.setrecursionlimit(5000)
driver = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context)
def down(size, depth):
    if depth:
        down(size, depth - 1)
    else:
        assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size << 20)) == 0
down(3, 500)
down(5, 700)
""")
    recording = record_python(tmp_path, program)
    assert recording.process.returncode == 0, recording.process.stderr
    found = {b["size_bytes"] // MIB: b["python"] for b in recording.blocks("end", "--all-frames")["blocks"]}
    assert found[3][-1].endswith("deep.py:11 <module>") and CUT not in found[3]
    assert len(found[5]) == 512 + 1 and found[5][-1] == CUT
