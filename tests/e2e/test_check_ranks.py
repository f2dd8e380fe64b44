# SPDX-License-Identifier: MIT
"""`vtrace check FOLDER`: a limit holds where it holds for every rank, and the rank that breaks it is named."""
import json
import re
import shutil
import sqlite3
from xml.etree import ElementTree

import pytest

from page import Page
from ranks import change, train
from recording import BUILD, record, vtrace

CLIENT = BUILD / "tests" / "workloads" / "driver_client"


@pytest.fixture(scope="module")
def large_rank(tmp_path_factory):
    """Two ranks, the second with twice the batch."""
    return train(tmp_path_factory.mktemp("large"), 2, "--large-rank", 1)


@pytest.fixture
def copied(large_rank, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for path in large_rank.glob("*.db"):
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def check(tmp_path):
    def run(folder, budget, *options, code=0):
        (tmp_path / "memory.toml").write_text(budget)
        done = vtrace("check", folder, "--budget", tmp_path / "memory.toml", *options, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return run


def figures(large_rank, check, budget='[owners]\n"activations/mlp" = "1 TiB"\n'):
    found = json.loads(check(large_rank, budget, "--json").stdout)
    return [rank["limits"][0]["figure"] for rank in found["ranks"]]


def test_the_rank_that_breaks_a_limit_is_named(large_rank, check):
    small, large = figures(large_rank, check)
    assert large > 1.9 * small > 0
    budget = f'[owners]\n"activations/mlp" = {small}\n[total]\nallocated = "1 TiB"\n'
    text = check(large_rank, budget, code=1).stdout
    assert re.search(r"^ +owners.activations/mlp +FAILED on 1 of 2 +1 ", text, re.M), text
    assert re.search(r"^ +total.allocated +ok +1 ", text, re.M), text
    assert "\nFAILED owners.activations/mlp: rank 1: " in text and "train_ranks.py" in text
    assert "also on ranks" not in text and "\n1 of 2 limits failed\n" in text
    found = json.loads(check(large_rank, budget, "--json", code=1).stdout)
    assert found["limits"] == [
        {"limit": "owners.activations/mlp", "failed_ranks": [1], "worst_rank": 1},
        {"limit": "total.allocated", "failed_ranks": [], "worst_rank": 1}]
    assert [(rank["rank"], rank["failed"]) for rank in found["ranks"]] == [(0, 0), (1, 1)]
    # What is said of a rank is what is said of its recording alone.
    alone = json.loads(check(large_rank / "run.rank1.db", budget, "--json", code=1).stdout)
    assert found["ranks"][1]["limits"] == alone["limits"]


def test_all_ranks_that_break_a_limit_are_named(large_rank, check):
    text = check(large_rank, "[total]\nallocated = 1\n", code=1).stdout
    assert "FAILED on 2 of 2" in text and "FAILED total.allocated: rank 1: " in text
    assert "\n  also on ranks 0\n" in text


def test_all_is_well(large_rank, check):
    text = check(large_rank, '[total]\nallocated = "1 TiB"\n').stdout
    assert "all limits hold on all ranks" in text and "FAILED" not in text


def test_a_rank_that_did_not_end_well_is_named(copied, check):
    change(copied / "run.rank1.db", ended="exit 1", exit_status=1)
    budget = '[total]\nallocated = "1 TiB"\n'
    assert "\n  note: rank 1: the run ended with exit status 1: " in check(copied, budget).stdout
    ranks = json.loads(check(copied, budget, "--json").stdout)["ranks"]
    assert [len(rank["notes"]) for rank in ranks] == [0, 1]


def test_annotations_and_junit(large_rank, check, tmp_path):
    small, _ = figures(large_rank, check)
    budget = f'[owners]\n"activations/mlp" = {small}\n'
    text = check(large_rank, budget, "--github", "--junit", "out.xml", code=1).stdout
    assert len(re.findall(r"^::error file=tests/workloads/train_gpt.py,line=\d+,title=vtrace%3A rank 1%3A owners", text,
                          re.M)) == 1
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [case.get("name") for case in suite] == ["rank 0: owners.activations/mlp", "rank 1: owners.activations/mlp"]
    assert [case.find("failure") is not None for case in suite] == [False, True]


def test_markdown_for_a_summary_page(large_rank, copied, check):
    small, _ = figures(large_rank, check)
    budget = f'[owners]\n"activations/mlp" = {small}\n[total]\nallocated = "1 TiB"\n'
    text = check(large_rank, budget, "--format", "markdown", "--repository", "https://gitlab.com/a/b", "--revision",
                 "abc", code=1).stdout
    assert text.startswith("### GPU memory: 1 of 2 limits failed, 2 ranks\n\n| limit | | rank | figure |")
    assert re.search(r"^\| owners.activations/mlp \| FAILED on 1 of 2 \| 1 \| .* \|$", text, re.M), text
    assert "\n**owners.activations/mlp**: rank 1: " in text
    assert "(https://gitlab.com/a/b/-/blob/abc/tests/workloads/train_gpt.py#L" in text
    text = check(large_rank, BUDGET, "--format", "markdown").stdout
    assert text.startswith("### GPU memory: 1 limits hold on 2 ranks\n") and text.endswith("|\n\n")
    (copied / "run.rank1.db").unlink()
    assert "\nFAILED 1 of 2 ranks left no recording here: 1\n" in check(copied, BUDGET, "--format", "markdown",
                                                                       code=1).stdout


def test_the_highest_rank_goes_to_a_history(copied, check, tmp_path):
    budget = '[owners]\n"activations/mlp" = "1 TiB"\n'
    for _ in range(2):
        check(copied, budget, "--history", "history.db", "--revision", "a")
    history = json.loads(vtrace("history", tmp_path / "history.db", "--json").stdout)
    assert history["limits"][0]["limit"] == "owners.activations/mlp"
    most = max(figures(copied, check, budget))
    assert history["limits"][0]["figures"] == [{"run": run, "figure": most} for run in (0, 1)]
    # Without a rank it may be another one's.
    (copied / "run.rank1.db").unlink()
    done = check(copied, budget, "--history", "history.db", code=1)
    assert done.stderr == "vtrace: history.db: nothing added, because not every rank could be checked\n"
    check(copied, budget, "--history", "history.db", "--missing", "skip")
    history = json.loads(vtrace("history", tmp_path / "history.db", "--json").stdout)
    assert len(history["runs"]) == 3 and 0 < history["limits"][0]["figures"][2]["figure"] < most


def test_a_page_of_the_ranks_where_the_budget_is_broken(large_rank, check, tmp_path):
    page = tmp_path / "ranks.html"
    check(large_rank, '[total]\nallocated = "1 TiB"\n', "--html", page)
    assert not page.exists()
    check(large_rank, "[total]\nallocated = 1\n", "--html", page, "--run", "1", code=1)
    assert Page(page, "comparison").data["ranks"]["peak_rank"] == 1
    done = check(large_rank, "[total]\nallocated = 1\n", "--html", page, code=3)
    assert "--force" in done.stderr


def test_a_rank_that_left_nothing_fails(copied, check, tmp_path):
    for rank in (0, 1):
        change(copied / f"run.rank{rank}.db", world_size=4)
    budget = '[total]\nallocated = "1 TiB"\n'
    text = check(copied, budget, "--junit", "out.xml", code=1).stdout
    assert "FAILED 2 of 4 ranks left no recording here: 2 3" in text
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("errors"), len(suite)) == ("4", "2", 4)
    assert json.loads(check(copied, budget, "--json", code=1).stdout)["missing"] == [2, 3]
    assert "skipped 2 of 4 ranks" in check(copied, budget, "--missing", "skip").stdout


def test_what_cannot_be_is_one_line(copied, check, tmp_path):
    (tmp_path / "nothing").mkdir()
    budget = '[total]\nallocated = "1 TiB"\n'
    for options, code, words in (
            ((tmp_path / "nothing", budget), 3, "no recording in this folder"),
            ((copied, "[owners]\nnobody = 1\n"), 3, "memory.toml:2: unknown owner \"owners.nobody\""),
            ((copied, "[total]\nno = 1\n"), 3, "memory.toml:2: total.no: "),
            ((copied, budget, "--run", "7"), 3, "no run 7 in this folder, it has 1"),
            ((copied, budget, "--from", "nowhere"), 3, 'no mark named "nowhere"'),
            ((copied / "run.rank0.db", budget, "--run", "1"), 2, "--run is for a folder")):
        done = check(*options, code=code)
        assert done.stdout == "" and words in done.stderr.splitlines()[0], done.stderr


def damage(copied, name="run.rank1.db"):
    (copied / name).write_bytes((copied / "run.rank0.db").read_bytes()[:40_000])


def errors(tmp_path):
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    found = {case.get("name"): case.find("error").get("message") for case in suite if case.find("error") is not None}
    assert suite.get("errors") == str(len(found)) and suite.get("tests") == str(len(suite))
    return found


BUDGET = '[total]\nallocated = "1 TiB"\n'


def test_a_damaged_recording_is_named_with_its_reason(copied, check, tmp_path):
    """It was left out before anybody could know its rank, but for its name."""
    damage(copied)
    text = check(copied, BUDGET, "--junit", "out.xml", code=1).stdout
    assert f"\nFAILED rank 1: cannot be read: {copied}/run.rank1.db: " in text and "left no recording" not in text
    found = errors(tmp_path)
    assert found.keys() == {"rank 1"} and found["rank 1"].startswith("cannot be read: ")
    found = json.loads(check(copied, BUDGET, "--json", code=1).stdout)
    assert found["missing"] == [1] and [row["rank"] for row in found["unreadable"]] == [1]
    assert "\nskipped rank 1: cannot be read: " in check(copied, BUDGET, "--missing", "skip").stdout


def test_a_damaged_recording_of_another_name_may_be_the_missing_rank(copied, check, tmp_path):
    (copied / "run.rank1.db").unlink()
    damage(copied, "other.db")
    text = check(copied, BUDGET, "--junit", "out.xml", code=1).stdout
    assert f"\nFAILED cannot be read: {copied}/other.db: " in text
    assert "\nFAILED 1 of 2 ranks left no recording here: 1\n" in text
    assert errors(tmp_path).keys() == {f"{copied}/other.db", "rank 1"}


def test_a_damaged_recording_beside_all_ranks_is_none_of_them(copied, check):
    damage(copied, "other.db")
    damage(copied, "later.rank1.db")
    assert "cannot be read" not in check(copied, BUDGET).stdout


def test_without_a_launcher_any_damaged_recording_fails(copied, check, tmp_path):
    for rank in (0, 1):
        with sqlite3.connect(copied / f"run.rank{rank}.db") as connection:
            connection.execute("DELETE FROM run WHERE key IN ('rank', 'world_size', 'env:RANK', 'env:WORLD_SIZE')")
        connection.close()
    assert "all limits hold on all ranks" in check(copied, BUDGET).stdout
    damage(copied)
    text = check(copied, BUDGET, "--junit", "out.xml", code=1).stdout
    assert f"\nFAILED cannot be read: {copied}/run.rank1.db: " in text and "limits hold" not in text
    assert errors(tmp_path).keys() == {f"{copied}/run.rank1.db"}
    found = json.loads(check(copied, BUDGET, "--json", code=1).stdout)
    assert found["missing"] == [] and [row["rank"] for row in found["unreadable"]] == [None]
    assert "\nskipped cannot be read: " in check(copied, BUDGET, "--missing", "skip").stdout


def test_the_closing_line_names_what_was_not_checked(copied, check):
    for rank in (0, 1):
        change(copied / f"run.rank{rank}.db", world_size=4)
    assert "\n0 of 1 limits failed; not checked: 2 ranks without a recording\n" in check(copied, BUDGET, code=1).stdout
    damage(copied, "run.rank2.db")
    unknown = "1 rank without a recording, 1 recording that cannot be read\n"
    assert f"\n0 of 1 limits failed; not checked: {unknown}" in check(copied, BUDGET, code=1).stdout
    broken = check(copied, "[total]\nallocated = 1\n", "--missing", "skip", code=1).stdout
    assert f"\n1 of 1 limits failed; skipped: {unknown}" in broken
    held = check(copied, BUDGET, "--missing", "skip").stdout
    assert held.endswith(f"\nall limits hold on all ranks that could be checked; skipped: {unknown}")


def test_unrelated_recordings_are_each_held_against_it(check, tmp_path):
    """One after the other, without a launcher: they are no ranks, and are named by their files."""
    (tmp_path / "runs").mkdir()
    for name in ("first", "second"):
        assert record(tmp_path / "runs", CLIENT, "2", name=f"{name}.db").process.returncode == 0
    text = check(tmp_path / "runs", "[total]\ndevice_used = 1\n", code=1).stdout
    assert re.search(r"^CHECK .*, 2 recordings$", text, re.M), text
    assert re.search(r"^ +total.device_used +FAILED on 2 of 2 +first.db ", text, re.M), text
    assert "FAILED total.device_used: first.db: " in text and "\n  also on recordings second.db\n" in text
    assert not re.search(r"\branks?\b", text), text
    found = json.loads(check(tmp_path / "runs", "[total]\ndevice_used = 1\n", "--json", code=1).stdout)
    files = [str(tmp_path / "runs" / f"{name}.db") for name in ("first", "second")]
    assert found["limits"] == [{"limit": "total.device_used", "failed_files": files, "worst_file": files[0]}]
    assert [row["file"] for row in found["recordings"]] == files and "ranks" not in found
    assert "rank" not in found["recordings"][0]
    refused = check(tmp_path / "runs", BUDGET, "--history", "history.db", code=2)
    assert "--history is for the ranks of one run" in refused.stderr and not (tmp_path / "history.db").exists()
    well = check(tmp_path / "runs", '[total]\ndevice_used = "1 TiB"\n').stdout
    assert "\nall limits hold on all recordings\n" in well
