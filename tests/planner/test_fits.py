# SPDX-License-Identifier: MIT
"""What `estimate --budget` finds is done, on a recording and on a plan: it fits, and what is cheaper does not."""
import json
import random

import pytest

from fitted import drawn, run, search
from recording import BUILD, record, record_python, vtrace
from test_estimate import refused

UNEVEN = ("uneven.py", "--inner", "512,6144,1024,512,4096", "--rows", 4096)


@pytest.mark.parametrize("is_recorded", (True, False), ids=("recorded", "planned"))
def test_what_is_found_fits_and_what_is_cheaper_does_not(is_recorded, tmp_path):
    row = drawn(tmp_path, random.Random(3), is_recorded)
    run(tmp_path, [row])
    assert row.is_right, row
    assert row.limit < row.was and row.found == pytest.approx(row.taken, rel=0.02)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("uneven"), *UNEVEN).database


def fitted(database, limit):
    found = search("--from", database, "--budget", "1000GiB")
    return search("--from", database, "--budget", f"{limit + found['context_bytes']}B")


def test_every_cheaper_set_was_too_much(uneven):
    """All sets of the five layers, by what each keeps: none that saves as much is computed again for less."""
    most = search("--from", uneven, "--budget", "1000GiB")
    kept = {layer["path"]: layer["kept_bytes"] for layer in most["layers"]}
    flops = {layer["path"]: layer["flops"] for layer in most["layers"]}
    assert len(kept) == 5 and most["checkpointed"]["layers"] == [] and most["next_cheaper"] is None
    width, rows = 512, 4096
    assert [flops[f"layers.{i}"] for i in range(5)] == [2 * rows * 2 * width * i for i in (512, 6144, 1024, 512, 4096)]
    assert most["step_flops"] == 3 * (sum(flops.values()) + 2 * rows * width * 1000)
    for share in (0.2, 0.5, 0.8):
        least, was = most["least_allocated_bytes"], most["recorded_allocated_bytes"]
        found = fitted(uneven, int(least + share * (was - least)))
        price = found["checkpointed"]["recomputed_flops"]
        assert price == sum(flops[path] for path in found["checkpointed"]["layers"])
        assert found["checkpointed"]["allocated_bytes"] <= found["budget_bytes"] - found["context_bytes"]
        assert found["next_cheaper"]["recomputed_flops"] < price
        assert found["next_cheaper"]["allocated_bytes"] > found["budget_bytes"] - found["context_bytes"]


def test_text_and_what_does_not_fit(uneven):
    done = vtrace("estimate", "--from", uneven, "--budget", "1000GiB")
    assert done.returncode == 0 and "fits as recorded" in done.stdout
    done = vtrace("estimate", "--from", uneven, "--budget", "600MiB")
    assert done.returncode == 1 and "checkpointing is not enough: with all 5 layers" in done.stdout
    done = vtrace("estimate", "--from", uneven, "--budget", "100MiB")
    assert refused(done, 3, "its context alone exceeds the budget")


@pytest.mark.parametrize("options, word", (
    (("--batch", "2"), "excludes --batch"), (("--was", "4x4"), "excludes --batch"),
    (("--train",), "--from takes no MODEL"), (("--vram", "8GiB"), "--vram")))
def test_wrong_usage(uneven, options, word):
    assert refused(vtrace("estimate", "--from", uneven, "--budget", "4GiB", *options), 2, word)


def test_what_cannot_be_searched(uneven, tmp_path):
    again = record_python(tmp_path, *UNEVEN, "--checkpointed", "layers.1", name="again.db").database
    driver = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2", name="driver.db").database
    for database, word in ((again, "computes layers twice already"), (driver, "no blocks of a framework")):
        assert refused(vtrace("estimate", "--from", database, "--budget", "4GiB"), 3, word)
