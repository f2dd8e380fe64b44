# SPDX-License-Identifier: MIT
"""The probe on parameters that are no ordinary tensors, and in a program with more than one interpreter."""
import pytest

from test_probe import REASONS, missing, run


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    return run(tmp_path_factory.mktemp("parameters"), "probe_parameters.py")


def test_distributed_and_lazy_parameters_have_names_gradients_and_state(looked):
    recording, expected = looked
    assert len(expected) == 7
    assert missing(recording, expected) == []


def test_a_distributed_parameter_is_trained_where_its_local_tensor_knows_nothing_of_it(looked):
    recording, _ = looked
    flags = dict(recording.query("SELECT size_bytes, max(flags & 1) FROM tensor WHERE role = 1 GROUP BY 1"))
    assert flags[600 * 1024 * 4] == 1 and flags[500 * 1024 * 4] == 0


def test_a_mark_in_another_interpreter_is_looked_at_from_the_first(looked):
    """It asks for a look there, where PyTorch is not; the look comes when the first interpreter goes on."""
    recording, _ = looked
    assert "mark" in [reason for reason, in recording.query(REASONS)]
    assert recording.process.stderr == ""
