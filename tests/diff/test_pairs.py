# SPDX-License-Identifier: MIT
"""Programs with one edit: `vtrace diff` names exactly the places that changed; some in every run, 500 in the full."""
import ast

import edits
import equal
import pairs
import programs
import pytest
import truth
from versions import Version

# One of each kind: something new, nothing, a move, one line that becomes two.
QUICK = ("kept_tensor_inserted_between", "statements_swapped", "function_renamed", "call_split")


def judge_all(rows):
    ran = [row for row in rows if "failed" not in row]
    wrong = [row for row in ran if row["places"]]
    assert not [row for row in ran if row["owners"]]
    assert len(ran) > 0.9 * len(rows) and len(wrong) <= (1 - pairs.SHARE) * len(ran), wrong


def test_a_few_pairs(tmp_path):
    judge_all(pairs.run(tmp_path, len(QUICK), 7, QUICK, ("diff_training",)))


def test_a_little_more_beside_steps_that_differ_in_rounding(tmp_path):
    """gpt's steps ask for the same, in blocks that are not; what a line keeps is less than these differ by."""
    rows = pairs.run(tmp_path, 1, 4, ("result_kept_in_forward",), ("gpt",))
    assert [(row["places"], row["owners"]) for row in rows] == [([], [])]


def test_equal_runs_of_threads(tmp_path):
    assert not list(equal.differences(tmp_path, "threads", 1))


@pytest.mark.full
def test_many_pairs(tmp_path):
    judge_all(pairs.run(tmp_path, 500, 1, [*edits.EDITS, "+", "+", "+"]))


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_edits_leave_programs(name):
    """Whatever is edited is Python, and its lines are those of before but for the edit's own."""
    base = Version.of(programs.source_of(name))
    hot = {line.id for line in base.lines()}
    drawn = pairs.draw({name: base}, {name: hot}, 60, 1, [*edits.EDITS, "+"])
    assert len({label for _, label, *_ in drawn}) >= 20
    for _, label, kind, before, after in drawn:
        for version in (before, after):
            for file in version.files:
                ast.parse(version.text(file))
        if kind != "bytes" and "+" not in label:
            mine, its = ({line.id for lines in v.files.values() for line in lines} for v in (before, after))
            assert hot - {None} <= mine | its and len(hot & mine & its) > 0.6 * len(hot), label


def test_a_table_fits_its_program():
    for name, table in programs.PROGRAMS.items():
        text = programs.source_of(name)
        for kind, pairs_of_text in table.items():
            for old, new in pairs_of_text:
                assert text.count(old) == 1 and old != new, (name, kind, old)


def test_a_place_that_is_wrong_is_noticed():
    """Bytes at another line, and a change that is two."""
    version = Version.of("a = 1\nb = 2\n")
    device = {"places": [{"new_stack": ["train.py:1 <module>"], "base_stack": [], "change_bytes": 5,
                          "is_change": True},
                         {"new_stack": [], "base_stack": ["backward of train.py:2 <module>"], "change_bytes": -5,
                          "is_change": True},
                         {"new_stack": ["train.py:2 <module>"], "base_stack": [], "change_bytes": 9,
                          "is_change": False}]}
    assert truth.reported(device, version, version) == {
        (False, (1,)): (5, [5]), (True, (2,)): (-5, [-5]), (False, (2,)): (9, [])}
