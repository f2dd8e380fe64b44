# SPDX-License-Identifier: MIT
"""Who keeps a block alive, and what the backward pass made for which module, on real training."""
import json
import re

import pytest
from recording import record_python, vtrace


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    recording = record_python(tmp_path_factory.mktemp("kept"), "kept_blocks.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording, json.loads(recording.process.stdout.splitlines()[-1])


def by_address(recording, moment):
    return {b["address"]: b for b in recording.blocks(f"mark:{moment} 2")["blocks"] if b["kind"] == "block"}


def test_norm_is_kept_for_the_projections(trained):
    recording, addresses = trained
    norm = by_address(recording, "forward")[addresses["norm"]]
    assert norm["owner"] == "activations/norm"
    # The three projections save it; the pass comes to the first of them last.
    assert norm["keeper"] == "saved for backward" and norm["keeper_detail"].endswith(" in Linear < Attention")


@pytest.mark.parametrize("way", ["reentrant", "not reentrant", "by hand"])
def test_what_a_checkpoint_keeps_is_its_boundary(trained, way):
    recording, addresses = trained
    block = by_address(recording, "forward")[addresses[f"into {way}"]]
    assert (block["owner"], block["provenance"]) == ("activations/checkpoint", "autograd")
    assert block["keeper"] == "checkpoint" and block["keeper_detail"]


def test_what_no_checkpoint_keeps_is_no_boundary(trained):
    recording, addresses = trained
    blocks = by_address(recording, "forward")
    assert blocks[addresses["into plain"]]["owner"] != "activations/checkpoint"
    boundaries = [a for a, b in blocks.items() if b["owner"] == "activations/checkpoint"]
    assert sorted(boundaries) == sorted(addresses[f"into {way}"] for way in ("reentrant", "not reentrant", "by hand"))


def test_roles_keep_what_they_hold(trained):
    recording, addresses = trained
    blocks = by_address(recording, "backward")
    keepers = {name: blocks[addresses[name]]["keeper"] for name in ("weight", "moment", "query gradient")}
    assert keepers == {"weight": "module", "moment": "optimizer", "query gradient": ".grad"}


def test_backward_block_has_the_forward_line_and_modules(trained):
    recording, addresses = trained
    block = by_address(recording, "backward")[addresses["gradient"]]
    # Made by nodes of the second block, whose input it is the gradient of.
    assert block["stage"] == "backward" and "Block" in block["modules"]
    assert any(line.endswith(" Block.forward") for line in block["forward_python"])
    made = [b for b in by_address(recording, "backward").values()
            if b["stage"] == "backward" and b["step"] == 3 and b["size_bytes"] > 512]  # no scalars: the pass's start
    assert len(made) > 20
    assert all(b["forward_python"] and b["modules"] for b in made)


def test_report_by_keeper_adds_up(trained):
    recording, _ = trained
    path = recording.database
    options = ("--by", "keeper", "--at", "mark:forward 2")
    peak = json.loads(vtrace("report", *options, "--json", path).stdout)["devices"][0]["peak"]
    owned = sum(o["bytes"] for o in peak["owners"] if o["owner"].split("/")[0] not in ("cached", "context"))
    assert sum(k["bytes"] for k in peak["keepers"]) == owned
    assert {"saved for backward", "checkpoint", "module", "optimizer"} <= {k["keeper"] for k in peak["keepers"]}
    text = vtrace("report", *options, path).stdout
    assert " kept by " in text and "saved for backward" in text
    text = vtrace("report", "--at", "mark:backward 2", path).stdout
    assert re.search(r"^ +backward of \S*kept_blocks\.py:\d+ Model\.forward$", text, re.M), text


def test_report_by_something_else_is_wrong_usage(trained):
    recording, _ = trained
    done = vtrace("report", "--by", "colour", recording.database)
    assert done.returncode == 2 and "owner or keeper, not \"colour\"" in done.stderr
