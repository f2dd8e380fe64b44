# SPDX-License-Identifier: MIT
"""What the simulator cannot know is said in the reports of the runs that depend on it."""
import json

import pytest

from recording import record_python, vtrace

NOTE = "cuDNN workspaces (convolutions): not simulated; on a real card they add an unknown amount to the peak"


@pytest.mark.parametrize("observe", ("1", "0"))
def test_convolutions_have_no_workspaces_of_cudnn(tmp_path, observe):
    recording = record_python(tmp_path, "convolution.py", env={"VTRACE_OBSERVE": observe})
    assert NOTE in recording.report()["notes"]
    assert f"note: {NOTE}\n" in vtrace("report", recording.database).stdout
    assert NOTE in json.loads(vtrace("whatif", recording.database, "--json").stdout)["notes"]


def test_a_run_without_convolutions_says_nothing_of_them(tmp_path):
    recording = record_python(tmp_path, "train_mlp.py")
    assert not any("cuDNN" in note for note in recording.report()["notes"])


def test_the_size_of_executable_graphs_is_assumed(tmp_path):
    def says_so(script):
        notes = record_python(tmp_path, script, name=f"{script}.db").report()["notes"]
        return any(note.startswith("executable CUDA graphs: a fixed size is assumed") for note in notes)

    assert says_so("cuda_graph.py") and not says_so("train_mlp.py")
