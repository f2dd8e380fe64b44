# SPDX-License-Identifier: MIT
"""A profile written by hand at 131,072 tokens: what memory_allocated() said after each piece, and what the bytes are.

The figures are those of a published report on such a model (36 layers, width 2560, vocabulary 151,936) on a card of
94.97 GiB.
"""
import json

import pytest

from recording import record_python

GIB = 2**30
PIECES = {"model": "8.72", "embedding": "9.35", "first layer": "25.87", "forward": "62.97"}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    recording = record_python(tmp_path_factory.mktemp("long_context"), "long_context.py", profile="rtxpro6000-96g")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


def test_the_program_reads_the_published_figures(profiled):
    allocated = json.loads(profiled.process.stdout)
    assert {piece: f"{size / GIB:.2f}" for piece, size in allocated.items()} == PIECES


def test_the_card_is_the_one_of_the_report(profiled):
    assert f"{profiled.report()['devices'][0]['total_bytes'] / GIB:.2f}" == "94.97"


def row(stage, *path):
    """PEAK, AFTER, BYTES BY OWNER of a row of the table, as they are printed."""
    for name in path:
        stage = next(module for module in stage["modules"] if module["name"] == name)
    return {owner: f"{size / GIB:.2f}" for owner, size in stage["by_owner"].items() if size / GIB >= 0.005}, \
        f"{stage['allocated_after_bytes'] / GIB:.2f}"


def test_the_table_of_stages_has_these_rows_and_says_what_the_bytes_are(profiled):
    load, forward = profiled.report()["stages"][:2]
    assert [load["name"], forward["name"]] == ["load", "forward"]
    assert [module["name"] for module in forward["modules"]] == ["Embedding", "DecoderLayer", "LanguageModel"]

    owners, after = row(load)
    assert after == PIECES["model"]
    # 7.29 of parameters, and 0.02 that the allocator did not split off the blocks
    assert owners == {"weights": "7.31", "buffers": "1.41"}
    owners, after = row(forward, "Embedding")
    assert after == PIECES["embedding"]
    assert owners["activations/embedding"] == "0.62"
    owners, after = row(forward, "DecoderLayer")
    assert after == PIECES["first layer"]
    assert [owners[f"activations/{kind}"] for kind in ("mlp", "norm", "attention")] == ["9.00", "5.00", "2.52"]
    owners, after = row(forward, "LanguageModel")
    assert after == PIECES["forward"]
    assert owners["logits"] == "37.09"
    assert owners["activations/mlp"] == "9.00"


def test_the_layer_that_was_kept_is_the_only_one(profiled):
    forward = profiled.report()["stages"][1]
    layer, model = forward["modules"][1], forward["modules"][2]
    kept = {owner: size for owner, size in layer["by_owner"].items() if owner.startswith("activations/")}
    assert {owner: model["by_owner"].get(owner) for owner in kept} == kept
