# SPDX-License-Identifier: MIT
"""tests/planner/parameters with a few kinds: exact, and that it says so where one is not."""
import json
import pathlib
import re
import subprocess

import pytest

from recording import PYTHON, TIMEOUT_S

COMMAND = pathlib.Path(__file__).parent / "parameters"
KINDS = ("bert", "gpt2", "llama", "llava", "mamba2", "qwen2_moe", "t5", "vit")


def parameters(*words):
    return subprocess.run([PYTHON, COMMAND, *words], capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    done = parameters("--keep", folder, *KINDS)
    return done, next(folder.glob("*.json"))


def test_what_is_claimed_is_exact(kept):
    done, _ = kept
    assert done.returncode == 0, done.stdout + done.stderr
    number = int(re.search(rf"^{len(KINDS)} kinds, (\d+) models; not built by the library: 0$", done.stdout, re.M)[1])
    assert number > len(KINDS)  # several heads
    assert f"by running: {number} of {number} exact" in done.stdout
    assert f"formulas, claimed: {number} of {number} exact ({len(KINDS)} kinds)" in done.stdout


@pytest.mark.parametrize("key, line", (("built", "by running: {} of {} exact"),
                                       ("counted", "formulas, claimed: {} of {} exact")))
def test_one_parameter_more_is_seen(kept, key, line, tmp_path):
    _, file = kept
    rows = json.loads(file.read_text())
    rows[0][key] += 1
    (tmp_path / file.name).write_text(json.dumps(rows))
    done = parameters("--keep", tmp_path, *KINDS)
    assert done.returncode == 1 and line.format(len(rows) - 1, len(rows)) in done.stdout
    assert re.search(rf"^{rows[0]['kind']} +{rows[0]['class']} .* claimed", done.stdout, re.M)


def test_a_kind_that_is_none():
    done = parameters("nobody")
    assert done.returncode == 2 and "no such kind: nobody" in done.stderr and not done.stdout
