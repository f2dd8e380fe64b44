# SPDX-License-Identifier: MIT
"""Notebooks and `python -c`: places are cells and lines, and nothing of what runs them is seen."""
import pytest

from recording import PYTHON, WORKLOADS, frameworks_python, record, vtrace


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("notebook"), frameworks_python(), WORKLOADS / "notebook.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def test_places_are_cells_and_lines(notebook):
    text = vtrace("report", notebook.database, "--top", 50).stdout
    assert text.startswith("notebook ")
    for place in ("cell 2, line 8 Net.forward", "cell 3, line 1 <module>", "cell 4, line 4 <module>",
                  "cell 5, line 1 <module>"):
        assert place in text
    for word in ("ipykernel_", "IPython", "tornado", "traitlets", "interactiveshell"):
        assert word not in text


def test_names_are_the_programs_own(notebook):
    names = notebook.query("SELECT DISTINCT n.text, h.text FROM tensor t JOIN string n ON n.id = t.name"
                           " JOIN string h ON h.id = t.holder")
    assert {"up.weight", "down.bias"} <= {name for name, _ in names}
    for text in {text for row in names for text in row}:
        assert not any(word in text for word in ("__builtins__", "get_ipython", "app.", "ipykernel", "shell"))
    assert ("notebook: optimizer",) in {(holder,) for _, holder in names}


def test_a_program_in_the_command_has_a_short_title(tmp_path):
    code = "import torch\nx = torch.zeros(4 << 20, device='cuda')\n"
    recording = record(tmp_path, PYTHON, "-W", "ignore", "-c", code)
    assert recording.process.returncode == 0, recording.process.stderr
    text = vtrace("report", recording.database).stdout
    assert text.startswith("python -c  pid ")
    assert "<string>:2 <module>" in text
