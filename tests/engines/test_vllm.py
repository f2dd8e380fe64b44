# SPDX-License-Identifier: MIT
"""Unmodified vLLM on the simulated card: it starts, sizes its cache and serves, and its memory has the right owners."""
import json
import re

import pytest

from serving import path_of_rank
from started import check_owners, find_python, owned_bytes, start, start_ranks

pytestmark = pytest.mark.full
ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1"}
PROGRAMS = {"eager": ("serve_offline.py", "eager"), "graphs": ("serve_offline.py", "graphs"),
            "http": ("serve_http.py",)}


@pytest.fixture(scope="module", params=PROGRAMS)
def served(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    recording = start(folder, find_python("vllm"), *PROGRAMS[request.param], env=ENVIRONMENT)
    return recording, json.loads((folder / "truth.json").read_text())


def cache_bytes(recording):
    """As the engine says, in its log."""
    output = recording.process.stdout + recording.process.stderr
    return float(re.search(r"Available KV cache memory: ([\d.]+) GiB", output).group(1)) * (1 << 30)


def test_every_prompt_is_answered(served):
    assert "served 8 prompts, {16} tokens each" in served[0].process.stdout


def test_the_cache_takes_what_the_engine_says(served):
    assert owned_bytes(served[0], "kv cache") == pytest.approx(cache_bytes(served[0]), abs=0.02 * (1 << 30))


def test_what_the_engine_owns_has_the_right_owner(served):
    check_owners(*served)


def test_two_cards_share_the_model(tmp_path):
    ranks = start_ranks(tmp_path, find_python("vllm"), "serve_http.py", "--tensor-parallel-size", "2",
                        env=ENVIRONMENT, profile="l4-24g,count=2")
    assert len(ranks) == 2 and "served 8 prompts, {16} tokens each" in ranks[0].process.stdout
    for number, rank in enumerate(ranks):
        check_owners(rank, json.loads(path_of_rank(tmp_path / "truth.json", number).read_text()))
        assert owned_bytes(rank, "kv cache") == pytest.approx(cache_bytes(rank), abs=0.02 * (1 << 30))


@pytest.mark.parametrize("finding, flag, large, small", (
    ("trial-of-requests", "--max-num-seqs", {"max_num_seqs": 1024}, {"max_num_seqs": 256}),
    ("trial-of-tokens", "--max-num-batched-tokens", {"max_num_batched_tokens": 16384, "max_num_seqs": 16},
     {"max_num_batched_tokens": 8192, "max_num_seqs": 16})))
def test_the_cache_grows_by_what_a_finding_says(finding, flag, large, small, tmp_path):
    """Started again with what the finding names; within what findings of programs are held to (tests/diagnosis)."""
    recordings = []
    for name, options in (("large", large), ("small", small)):
        (tmp_path / name).mkdir()
        recordings.append(start(tmp_path / name, find_python("vllm"), "serve_offline.py", "eager", json.dumps(options),
                                env=ENVIRONMENT))
    found = next(f for f in recordings[0].report()["findings"] if f["id"] == finding)
    assert found["fix"].startswith(flag) and found["is_for_cache"]
    grown = cache_bytes(recordings[1]) - cache_bytes(recordings[0])
    print(f"{finding}: foretold {found['saves_bytes'] / (1 << 30):.3f} GiB, grown by {grown / (1 << 30):.2f} GiB")
    assert found["saves_bytes"] == pytest.approx(grown, rel=0.05)
