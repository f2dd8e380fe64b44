# SPDX-License-Identifier: MIT
"""Operators that go wrong where a library's or the runtime's answer is not that of a real device."""
import configparser

import pytest

from recording import SOURCE

# Of another architecture than any that PyTorch's wheels have machine code for; then one of one that they have.
QUICK = ["rtx4090-24g", "l40s-48g", "t4-16g"]


def profiles():
    names = configparser.ConfigParser()
    names.read(SOURCE / "simulator" / "profiles.ini")
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in names.sections()]


@pytest.mark.parametrize("profile", profiles())
def test_kernels_chosen_by_architecture_are_there(simulate, profile):
    assert simulate("operators.py", "sorting", profile=profile).output == "0 failed\n"


def test_recurrent_layers(simulate):
    assert simulate("operators.py", "recurrent").output == "0 failed\n"


@pytest.mark.parametrize("profile", ["h100-80g", pytest.param("rtx4090-24g", marks=pytest.mark.full)])
def test_factorisations_report_success(simulate, profile):
    assert simulate("operators.py", "linalg", profile=profile).output == "0 failed\n"
