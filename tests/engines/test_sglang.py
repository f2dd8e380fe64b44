# SPDX-License-Identifier: MIT
"""Unmodified SGLang on the simulated card: it starts, sizes its cache and serves; its memory has the right owners."""
import json
import re

import pytest

from serving import path_of_rank
from started import check_owners, find_python, owned_bytes, start, start_ranks

pytestmark = pytest.mark.full
RELEASE = "0.5.8.post1"  # the newest that needs no compiler: docs/engines.md


@pytest.fixture(scope="module", params=("eager", "graphs", "http"))
def served(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    recording = start(folder, find_python("sglang", RELEASE), "serve_sglang.py", request.param)
    return recording, json.loads((folder / "truth.json").read_text())


def test_every_prompt_is_answered(served):
    assert "served 8 prompts, {16} tokens each" in served[0].process.stdout


def test_the_cache_takes_what_the_engine_says(served):
    output = served[0].process.stdout + served[0].process.stderr
    keys, values = map(float, re.search(r"K size: ([\d.]+) GB, V size: ([\d.]+) GB", output).groups())
    assert owned_bytes(served[0], "kv cache") == pytest.approx((keys + values) * (1 << 30), abs=0.02 * (1 << 30))


def test_what_the_engine_owns_has_the_right_owner(served):
    check_owners(*served)


def test_two_cards_share_the_model(tmp_path):
    ranks = start_ranks(tmp_path, find_python("sglang", RELEASE), "serve_sglang.py", "eager", '{"tp_size": 2}',
                        profile="l4-24g,count=2")
    assert len(ranks) == 2 and "served 8 prompts, {16} tokens each" in ranks[0].process.stdout
    for number, rank in enumerate(ranks):
        check_owners(rank, json.loads(path_of_rank(tmp_path / "truth.json", number).read_text()))
