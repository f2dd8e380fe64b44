# SPDX-License-Identifier: MIT
"""Findings of programs that run again with the advice applied: a pair in every run, all of them in the full one."""
import subprocess

import pytest

import proof
from recording import SOURCE

MIB = 1 << 20


@pytest.mark.parametrize("words", [("resume:kept",), pytest.param((), marks=pytest.mark.full)])
def test_savings_are_what_they_are_stated_to_be(words):
    done = subprocess.run([SOURCE / "tests" / "diagnosis" / "proof", *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 raise the peak" in done.stdout


def finding(stated, proved_by="arithmetic", is_lower_bound=False):
    return {"saves_bytes": stated * MIB, "proved_by": proved_by, "is_lower_bound": is_lower_bound}


@pytest.mark.parametrize("stated, measured, is_lower_bound, verdict", [
    (100, 100, False, "ok"), (100, 96, False, "ok"), (100, 94, False, "OFF"), (100, 106, False, "OFF"),
    (100, -1, False, "RAISES"), (0, -1, False, "RAISES"), (100, 300, True, "ok, a lower bound"),
    (100, 90, True, "OFF")])
def test_what_is_no_saving_is_noticed(stated, measured, is_lower_bound, verdict):
    assert proof.judge(finding(stated, is_lower_bound=is_lower_bound), measured * MIB, 0) == verdict
    assert proof.judge(finding(stated, "replay", is_lower_bound), 0, measured * MIB) == verdict
