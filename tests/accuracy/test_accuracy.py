# SPDX-License-Identifier: MIT
"""A few quick cases in every test run, all of them with the bounds of the whole set in the full one; and the scorer."""
import sqlite3
import subprocess

import pytest

import bounds
import catalogue
import recorded
import runs
import score
from recording import make_allocations_writable

QUICK = ("cnn", "eight_bits", "two_devices")


@pytest.mark.parametrize("name", QUICK)
def test_bytes_at_the_peak_have_the_right_owner(name):
    case, difference = runs.score(catalogue.read()[name], probe=1)
    missed = [row for row in bounds.figures_of_one(case, difference) if not bounds.is_met(*row[1:])]
    assert not missed, (missed, case.confusions().most_common(3))


def test_feed_forwards_of_plain_sequences_are_told_from_the_blocks_that_hold_them():
    case, _ = runs.score(catalogue.read()["plain_sequences"], probe=1)
    recall, precision = bounds.share([case], "truth"), bounds.share([case], "got")
    assert min(recall["activations/mlp"], precision["activations/attention"]) >= 95, case.confusions().most_common(3)


def test_distances_to_the_rows_of_a_code_book_are_no_logits():
    case, _ = runs.score(catalogue.read()["code_book"], probe=1)
    assert case.peak("right") >= 99, case.confusions().most_common(3)


@pytest.mark.parametrize("backend", [name for name in runs.BACKENDS if name != "caching"])
def test_owners_are_as_right_where_pytorch_reports_no_blocks(backend):
    case, difference = runs.score(catalogue.read()["masters"], probe=0, backend=backend)
    assert case.peaks and case.stages
    missed = [row for row in bounds.figures_of_one(case, difference) if not bounds.is_met(*row[1:])]
    assert not missed, (missed, case.confusions().most_common(3))


@pytest.mark.full
def test_the_whole_set_meets_the_bounds():
    done = subprocess.run([runs.HERE / "run"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the scorer: what must be noticed ---

MIB = 1 << 20


def block(number, owner, size=MIB, provenance="frames"):
    return {"id": number, "size_bytes": size, "owner": owner, "provenance": provenance, "kind": "block", "device": 0}


def truth(owner, names=()):
    return [MIB, owner, list(names), "somewhere"]


def moment(*pairs):
    """Blocks with their truths: (owner, truth, provenance)."""
    blocks = [block(n, owner, provenance=more[0] if more else "frames") for n, (owner, _, *more) in enumerate(pairs)]
    return score.Moment("now", blocks, {n: true for n, (_, true, *_) in enumerate(pairs) if true})


def test_a_false_owner_is_wrong_and_an_unknown_one_is_unknown():
    found = moment(("weights", truth("weights")), ("inputs", truth("logits")), ("unknown", truth("inputs")),
                   ("weights/cast", truth("weights")))
    assert (found.percent("right"), found.percent("wrong"), found.percent("unknown")) == (50, 25, 25)
    assert found.confusions["logits", "inputs"] == MIB


def test_bytes_without_truth_are_not_right():
    found = moment(("weights", truth("weights")), ("weights", None))
    assert (found.percent("right"), found.percent("without truth")) == (50, 50)


def test_wrong_with_certainty_is_counted_apart():
    found = moment(("inputs", truth("logits"), "autograd"), ("inputs", truth("logits"), "frames"))
    assert (found.percent("wrong"), found.percent("wrong, certain")) == (100, 50)


def test_a_kind_of_activation_counts_for_recall_and_not_for_right():
    found = moment(("activations/mlp", truth("activations/norm")), ("activations/norm", truth("activations/norm")))
    assert found.percent("right") == 100
    assert (found.truth["activations/norm"], found.both["activations/norm"], found.got["activations/mlp"]) == (
        2 * MIB, MIB, MIB)


def test_a_kind_that_the_truth_does_not_state_is_not_held_against_it():
    found = moment(("activations/mlp", truth("activations")), ("activations/mlp", truth("activations/other")),
                   ("weights", truth("activations")))
    assert (found.percent("right"), found.got["activations/mlp"], found.truth["activations"]) == (200 / 3, MIB, MIB)


def test_what_is_wrong_with_certainty_at_a_stage_is_not_outweighed_by_the_peak():
    case = score.Case.__new__(score.Case)
    case.peaks = [moment(*[("weights", truth("weights"))] * 9)]
    case.stages = [moment(("inputs", truth("logits"), "autograd"), ("weights", truth("weights")))]
    assert dict((name, value) for name, value, *_ in bounds.figures_of_one(case, 0))[
        "wrong by names, autograd or scope, worst moment"] == 50


@pytest.mark.parametrize("owner, verdict", (("weights/a.b.weight", "right"), ("weights/model.a.b.weight", "right"),
                                            ("weights/c.weight", "wrong"), ("weights", "wrong")))
def test_a_path_is_right_only_if_it_ends_in_the_full_name(owner, verdict):
    found = moment((owner, truth("weights", ["a.b.weight"]), "names"))
    assert found.paths == {verdict: MIB}


def test_a_truth_is_asked_again_when_what_its_case_imports_changes(tmp_path):
    for name, text in (("case", "import os\nfrom other import x\n"), ("other", "import case\nfrom third import y\n"),
                       ("third", ""), ("apart", "")):
        (tmp_path / f"{name}.py").write_text(text)
    assert {path.stem for path in runs.imported(tmp_path / "case.py")} == {"case", "other", "third"}


def test_births_are_joined_by_order_past_what_only_one_run_has():
    sizes = [(n + 1) * 8 * MIB for n in range(40)]
    births = [(100 + n, size) for n, size in enumerate(sizes)]
    truths = [[size, f"owner {n}", [], ""] for n, size in enumerate(sizes)]
    truths.insert(20, [3, "only observed", [], ""])
    joined = recorded.join(births, truths)
    assert len(joined) == 40
    assert all(joined[100 + n][1] == f"owner {n}" for n in range(40))


def test_births_of_other_sizes_are_not_joined():
    assert not recorded.join([(1, 8 * MIB)] * 30, [[64 * MIB, "weights", [], ""]] * 30)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("books")
    return runs.record(catalogue.read()["cnn"], 1, folder), folder


def test_the_books_close_at_every_event(recording):
    (_, difference, looked), _ = recording
    assert difference == 0
    assert looked > 100


@pytest.mark.parametrize("change", (
    "UPDATE allocation SET size_bytes = size_bytes + 512 WHERE id = (SELECT max(id) FROM allocation WHERE kind = 1)",
    "UPDATE device SET context_bytes = context_bytes + 1",
    "DELETE FROM allocation WHERE id = (SELECT min(id) FROM allocation WHERE kind = 1)",
    "DELETE FROM allocation WHERE id = (SELECT min(id) FROM allocation WHERE kind = 2)"))
def test_the_books_do_not_close_after_a_forgery(recording, tmp_path, change):
    (found, _, _), folder = recording
    forged = tmp_path / "forged.db"
    forged.write_bytes(found.database.read_bytes())
    with sqlite3.connect(forged) as connection:
        make_allocations_writable(connection)
        connection.execute(change)
    assert recorded.books(recorded.Recorded(forged), folder / "ledger")[0] > 0


def test_a_figure_beyond_its_bound_is_missed():
    for _, _, relation, bound in bounds.figures([], [], [0]):
        assert not bounds.is_met(None, relation, bound)
        assert not bounds.is_met(bound + 1 if relation == bounds.AT_MOST else bound - 1, relation, bound)
