# SPDX-License-Identifier: MIT
"""--simulate CARD,routing=...: a loop over experts sees the tokens that were chosen for each, and keeps as much."""
import json

import pytest

from recording import record_python, vtrace

EXPERTS, CHOSEN, TOKENS = 16, 4, 4096


def run(folder, routing, *arguments):
    folder.mkdir()
    recording = record_python(folder, "routed_experts.py", *arguments,
                              profile="h100-80g" + (f",routing={routing}" if routing else ""))
    assert recording.process.returncode == 0, recording.process.stderr
    return recording, json.loads(recording.process.stdout.splitlines()[-1])


def test_a_balanced_loop_keeps_what_the_grouped_product_keeps(tmp_path):
    recording, loop = run(tmp_path / "loop", "balanced", "loop")
    _, grouped = run(tmp_path / "grouped", "balanced", "grouped")
    assert loop["counts"] == [TOKENS * CHOSEN // EXPERTS] * EXPERTS
    assert loop["kept"] == pytest.approx(grouped["kept"], rel=0.02)
    assert any("tokens were routed by the option routing=balanced" in note for note in recording.report()["notes"])


def test_a_skewed_loop_gives_one_expert_as_much_as_chosen(tmp_path):
    _, loop = run(tmp_path / "loop", "skew:2.5", "loop")
    mean = TOKENS * CHOSEN / EXPERTS
    rest = (TOKENS * CHOSEN - loop["counts"][0]) / (EXPERTS - 1)
    assert loop["counts"][0] == 2.5 * mean
    assert all(abs(count - rest) < 1 for count in loop["counts"][1:])


def test_a_checkpoint_computes_again_what_it_computed(tmp_path):
    """Otherwise PyTorch finds other shapes in the second pass than in the first."""
    _, loop = run(tmp_path / "loop", "skew:4", "loop", "--checkpoint")
    assert loop["counts"][0] == 4 * TOKENS * CHOSEN // EXPERTS


def test_without_a_choice_no_token_goes_anywhere_and_nothing_is_said(tmp_path):
    recording, loop = run(tmp_path / "loop", None, "loop")
    assert sum(loop["counts"]) == 0
    assert not any("routed" in note for note in recording.report()["notes"])


@pytest.mark.parametrize("routing", ("", "even", "skew", "skew:", "skew:0.5", "skew:x", "skew:4x", "skew:9999",
                                     "balanced4"))
def test_another_word_is_wrong_usage(routing, tmp_path):
    done = vtrace("run", "--simulate", f"h100-80g,routing={routing}", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        f"routing={routing}: needs balanced, or skew: and a number from 1 to 1024")
