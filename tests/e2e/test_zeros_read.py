# SPDX-License-Identifier: MIT
"""A program that fails on the simulator, where values are zeros: the report names the lines that read some last."""
from html import escape

import pytest

from recording import WORKLOADS, record_python, vtrace

SAID = ("vtrace: the program failed; on the simulator device values are zeros;"
        " the report lists the lines that read them\n")
SOURCE = (WORKLOADS / "zeros_read.py").read_text().splitlines()


def run(directory, case, **keywords):
    recording = record_python(directory, "zeros_read.py", case, **keywords)
    assert (recording.process.returncode != 0) == (case != "nothing"), recording.process.stderr
    return recording, recording.report()["zero_reads"]


def line_of(text):
    return next(i for i, line in enumerate(SOURCE, 1) if text in line)


@pytest.mark.parametrize("case, text, function, size", (("item", ".item()", "count_tokens", 8),
                                                        ("size", "scores[scores > 0.5]", "best_of_chosen", 0)))
def test_the_line_that_read_zeros_is_named(case, text, function, size, tmp_path):
    recording, (read,) = run(tmp_path, case)
    assert read["where"].endswith(f"zeros_read.py:{line_of(text)} {function}")
    assert read["bytes"] == size and 0 < read["before_end_ns"] and read["caller"] is None
    assert recording.process.stderr.endswith(SAID)
    said = vtrace("report", recording.database).stdout
    section = said[said.index("\nZEROS READ  "):].partition("\n\n")[0].splitlines()
    assert vtrace("html", "-o", tmp_path / "run.html", recording.database).returncode == 0
    page = (tmp_path / "run.html").read_text()
    assert page.index("<pre>ZEROS READ  ") < page.index(escape(section[2])) < page.index('<section id="time"')
    assert section[2].startswith(f"  {read['where']}  took {'8 B' if size else 'a size'} from the device, ")


@pytest.mark.parametrize("case", ("memory", "nothing", "error", "values"))
def test_other_ends_name_no_line(case, tmp_path):
    """Out of memory since, a good end, nothing read, or values that the program had written itself."""
    recording, reads = run(tmp_path, case)
    assert reads == [] and SAID not in recording.process.stderr
    assert recording.value("SELECT count(*) FROM event WHERE op = 26") == 0
    assert "ZEROS READ" not in vtrace("report", recording.database).stdout


def test_a_worker_that_leaves_by_exit_is_covered(tmp_path):
    recording, (read,) = run(tmp_path, "leave")
    assert read["where"].endswith(" count_tokens") and recording.process.returncode == 3
