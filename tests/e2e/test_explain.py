# SPDX-License-Identifier: MIT
"""vtrace explain on real programs, and rules of one's own in every command that shows owners."""
import hashlib
import json

import pytest

from recording import WORKLOADS, record_python, vtrace
from test_bad_input import refused

OWN_RULES = """
[rule everything that Linear made]
inner_module = Linear
owner = mine
known_by = frames
reason = to see that it comes first

[include]
rules = default
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    recording = record_python(tmp_path_factory.mktemp("mlp"), "train_mlp.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording.database


@pytest.fixture(scope="module")
def own_rules(tmp_path_factory):
    path = tmp_path_factory.mktemp("rules") / "own.ini"
    path.write_text(OWN_RULES)
    return path


def shown(command, *arguments):
    done = vtrace(command, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_block_is_explained_as_it_is_listed(recorded):
    listed = shown("blocks", recorded)["blocks"]
    assert listed
    for block in listed:
        explained = shown("explain", recorded, block["id"])
        assert explained["block"] == block
        assert explained["rule"]["owner"] == block["owner"]
        assert explained["rule"]["provenance"] == block["provenance"]
        assert explained["facts"]["kind"] == block["kind"]


def test_an_address_is_that_of_the_moment(recorded):
    listed = shown("blocks", recorded, "--at", "end")["blocks"]
    block = next(b for b in listed if b["kind"] == "block")
    inside = hex(block["address"] + block["size_bytes"] - 1)
    assert shown("explain", recorded, inside, "--at", "end")["block"] == block
    assert shown("explain", recorded, block["address"], "--at", "end")["block"] == block
    before = vtrace("explain", recorded, inside, "--at", f"event:{block['id'] - 1}", "--json")
    assert before.returncode == 3 or json.loads(before.stdout)["block"]["id"] != block["id"]


def test_text_names_the_rule_and_its_reason(recorded):
    block = shown("blocks", recorded)["blocks"][0]
    rule = shown("explain", recorded, block["id"])["rule"]
    text = vtrace("explain", recorded, block["id"]).stdout
    assert f'rule "{rule["name"]}"' in text
    assert rule["reason"] in text
    assert block["owner"] in text


def test_own_rules_go_before_the_built_in_ones_and_the_recording_stays(recorded, own_rules):
    digest = hashlib.sha256(recorded.read_bytes()).hexdigest()
    before = shown("blocks", recorded)["blocks"]
    after = shown("blocks", recorded, "--rules", own_rules)["blocks"]
    mine = {b["id"] for b in after if b["owner"] == "mine"}
    assert mine and mine == {b["id"] for b in before if b["modules"][:1] == ["Linear"] and not b["forward_python"]}
    assert {b["id"]: b["owner"] for b in after if b["id"] not in mine} == \
        {b["id"]: b["owner"] for b in before if b["id"] not in mine}
    explained = shown("explain", recorded, min(mine), "--rules", own_rules)
    assert explained["rule"]["name"] == "everything that Linear made"
    assert explained["next_rules"], "the built-in rules that would have been next"
    owners = shown("report", recorded, "--rules", own_rules)["devices"][0]["peak"]["owners"]
    assert any(o["owner"] == "mine" for o in owners)
    assert hashlib.sha256(recorded.read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("command", ("report", "blocks", "explain"))
@pytest.mark.parametrize("text, message", (
    ("[rule a]\ncolour = red\n", "broken.ini:2: unknown key"),
    ("[rule a]\nnode = *\n", 'broken.ini:2: rule "a" has no owner'),
    ("[include]\nrules = mine\n", "broken.ini:2: unknown rules"),
    ("nonsense\n", "broken.ini:1: neither"),
))
def test_faults_of_rules_are_named_with_their_line(recorded, tmp_path, command, text, message):
    rules = tmp_path / "broken.ini"
    rules.write_text(text)
    operands = [recorded, "1"] if command == "explain" else [recorded]
    assert refused(vtrace(command, "--rules", rules, *operands), message)


@pytest.mark.parametrize("what", ("lm_head", "-1", "12x"))
def test_what_names_no_block_is_wrong_usage(recorded, what):
    done = vtrace("explain", recorded, "--", what)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'vtrace: "{what}" is neither an ID nor an address\n'


@pytest.mark.parametrize("what", ("99999999", "0x10"))
def test_what_is_no_block_is_said_in_one_line(recorded, what):
    assert refused(vtrace("explain", recorded, "--", what))
