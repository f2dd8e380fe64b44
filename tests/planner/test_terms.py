# SPDX-License-Identifier: MIT
"""Formulas of one's own: `vtrace estimate --terms FILE`."""
import json

import pytest

from combinations import estimate
from recording import vtrace
from test_estimate import refused

INCLUDE = "[include]\nterms = default\n"
OWN = """
[term mlp]
mlp = gated
owner = activations/mlp
layers = Ldense
bytes = 9*i*e
why = mine
"""
MODEL = ("llama-3.2-1b", "--train", "--batch", "2")


@pytest.fixture
def own(tmp_path):
    """Writes a file of terms, and says where it is."""
    def write(text):
        (tmp_path / "own.ini").write_text(text)
        return tmp_path / "own.ini"
    return write


def mlp(plan):
    """The formulas of the mlp, and what it has in the loss."""
    terms = [t for t in plan["terms"] if t["owner"] == "activations/mlp" and "loss" in t["stages"]]
    return [t["formula"] for t in terms], sum(t["bytes"] for t in terms)


def test_the_built_in_formulas_alone_change_nothing(own):
    assert estimate(*MODEL, "--terms", own(INCLUDE)) == estimate(*MODEL)


def test_a_formula_of_ones_own_takes_the_place_of_the_built_in_one(own):
    before, after = estimate(*MODEL), estimate(*MODEL, "--terms", own(OWN + INCLUDE))
    tokens, layers, width = 2 * 2048, 16, 8192
    assert mlp(after) == (["Ldense*T*(9*i*e)"], layers * tokens * 9 * width * 2)
    assert mlp(before) == (["Ldense*T*(4*i*e)"], layers * tokens * 4 * width * 2)
    assert next(t["why"] for t in after["terms"] if t["formula"] == "Ldense*T*(9*i*e)") == "mine"
    assert next(t["name"] for t in before["terms"] if t["formula"].startswith("Ldense*T*")) == "mlp"
    others = [[t for t in plan["terms"] if t["owner"] != "activations/mlp"] for plan in (before, after)]
    assert others[0] == others[1]


def test_behind_the_include_it_fills_gaps(own):
    assert estimate(*MODEL, "--terms", own(INCLUDE + OWN)) == estimate(*MODEL)


def test_alone_it_is_all_that_is_planned(own):
    plan = estimate(*MODEL, "--terms", own(OWN))
    assert {t["owner"] for t in plan["terms"]} == {"activations/mlp"}


def test_every_plan_of_a_sweep_and_of_a_budget_has_it(own):
    path = own(OWN + INCLUDE)
    swept = [json.loads(vtrace("estimate", *MODEL[:2], "--what-if", "batch=1,2", "--json", *more).stdout)
             for more in ((), ("--terms", path))]
    points = [[point["peak_bytes"] for point in s["points"]] for s in swept]
    assert all(after > before for before, after in zip(*points))
    text = vtrace("estimate", *MODEL, "--budget", "64GiB", "--terms", path).stdout
    assert text != vtrace("estimate", *MODEL, "--budget", "64GiB").stdout


@pytest.mark.parametrize("text, message", (
    ("", "own.ini: neither terms nor values"),
    ("[term a]\ncolour = red\nowner = x\nwhy = y\nbytes = 1\n", "own.ini:2: no such setting, fact or value: colour"),
    ("[term a]\nowner = x\nwhy = y\nbytes = 2*colour\n", "own.ini:4: no such name: colour"),
    (INCLUDE + "[term a]\nowner = x\nwhy = y\nbytes = 1/(L-16)\n", "own.ini:4: min(1,1)*T*(1/(L-16)): "),
    ("[term a]\nowner = x\n", "own.ini:2: [term a] needs owner and why")))
def test_a_mistake_is_named_with_its_line(own, text, message):
    assert refused(vtrace("estimate", *MODEL, "--terms", own(text)), 3, message)


def test_a_file_that_is_not_there(tmp_path):
    assert refused(vtrace("estimate", *MODEL, "--terms", tmp_path / "none.ini"), 3, "none.ini: cannot read")


@pytest.mark.parametrize("words", (("--from", "run.db"), ("sheet.ini",), ("--build", "a.py:f")))
def test_it_is_for_plans_from_a_configuration(own, words):
    assert refused(vtrace("estimate", *words, "--terms", own(INCLUDE)), 2, "--terms needs a MODEL or --params")
