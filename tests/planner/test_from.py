# SPDX-License-Identifier: MIT
"""vtrace estimate --from: a recorded run with another batch."""
import json

import pytest

from combinations import GPU
from scalings import SCALINGS, compare
from recording import BUILD, PYTHON, keep_first_inputs, record, record_python, vtrace

CONFIG = {"model_type": "llama", "hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6,
          "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 24000}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def run(folder, config, batch, seq):
    return record_python(folder, "planned_run.py", config, "--train", "--attention", "eager", "--batch", batch, "--seq",
                         seq, profile=GPU)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, config):
    return run(tmp_path_factory.mktemp("recorded"), config, 4, 320)


def scale(database, *options):
    done = vtrace("estimate", "--from", database, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_batch_is_met(recorded, config, tmp_path):
    """Segments, blocks and owners; scores grow with the square of the sequence."""
    found = scale(recorded.database, "--batch", 3, "--seq", 700)
    assert found["recorded_size"] == {"batch": 4, "seq": 320} and found["size"] == {"batch": 3, "seq": 700}
    report = run(tmp_path, config, 3, 700).report()["devices"][0]["peak"]
    assert found["peak"]["allocated_bytes"] == pytest.approx(report["max_allocated_bytes"], rel=0.01)
    assert found["peak"]["reserved_bytes"] == pytest.approx(report["reserved_bytes"], rel=0.02)
    sums = {}
    for row in found["owners"]:
        sums[row["owner"]] = sums.get(row["owner"], 0) + row["bytes"]
    for owner in report["owners"]:
        if not owner["owner"].startswith(("cached", "context")):
            assert sums.get(owner["owner"], 0) == pytest.approx(owner["bytes"], rel=0.05, abs=2**21), owner["owner"]
    assert {"b*s*s", "b*s", "neither"} <= {row["follows"] for row in found["owners"]}
    assert all(row["assumption"] for row in found["owners"]) and found["assumption"]


def test_the_same_batch_is_the_recording(recorded):
    found = scale(recorded.database)
    assert found["peak"] == found["recorded_peak"]
    assert all(row["bytes"] == row["recorded_bytes"] for row in found["owners"])
    report = recorded.report()
    assert found["peak"]["reserved_bytes"] == report["devices"][0]["peak"]["reserved_bytes"]
    peaks = {stage["name"]: stage["peak_bytes"] for stage in report["stages"]}
    assert {s["name"]: s["recorded_bytes"] for s in found["stages"]} == peaks
    assert {s["name"]: s["bytes"] for s in found["stages"]} == peaks


def test_a_size_that_its_inputs_were_not_is_said(recorded):
    assert scale(recorded.database)["note"] is None
    assert scale(recorded.database, "--was", "4x320")["note"] is None
    assert "4 x 320" in scale(recorded.database, "--was", "8x100")["note"]


VARYING = """
import torch
model = torch.nn.Sequential(torch.nn.Embedding(1000, 512), *(torch.nn.Linear(512, 512) for _ in range(8))).to("cuda")
for length in (64, 128, 4096, 256):
    tokens = torch.zeros(4, length, dtype=torch.int64, device="cuda")
    model(tokens).sum().backward()
"""


def test_a_peak_of_other_inputs_than_were_seen_is_not_scaled(tmp_path):
    """The probe saw the first step's; the peak is in the third."""
    database = record(tmp_path, PYTHON, "-c", VARYING).database
    keep_first_inputs(database)
    for command in (("estimate", "--from", database, "--seq", "128"), ("whatif", database, "--batch", "2")):
        done = vtrace(*command)
        assert (done.returncode, done.stdout) == (3, "") and "inputs vary" in done.stderr and "--was" in done.stderr
    found = scale(database, "--was", "4x4096", "--seq", "2048")
    assert found["recorded_size"] == {"batch": 4, "seq": 4096} and found["note"] is None


def test_states_follow_nothing(recorded):
    rows = scale(recorded.database, "--batch", 40, "--seq", 3200)["owners"]
    states = [row for row in rows if row["owner"] in ("weights", "optimizer")]
    assert {row["owner"] for row in states} == {"weights", "optimizer"}
    for row in states:
        assert row["follows"] == "neither" and row["bytes"] == row["recorded_bytes"]


def test_whether_it_fits(recorded):
    assert scale(recorded.database, "--gpu", "rtx4090-24g")["fits"] is True
    assert scale(recorded.database, "--gpu", "rtx4090-24g", "--batch", 400, "--seq", 3200)["fits"] is False
    done = vtrace("estimate", "--from", recorded.database, "--gpu", "rtx4090-24g", "--batch", 400)
    assert "rtx4090-24g: does not fit" in done.stdout


# Segments of eight lengths: 77 GiB of them, were none given back.
FULL_CARD = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
for length in range(2304, 4097, 256):
    x = torch.zeros(64, length, 1024, device="cuda")
    net(x).sum().backward()
    del x
"""


def test_a_full_card_gives_cached_segments_back(tmp_path):
    """What ended well on a card fits on it, with the reserved bytes of the recording."""
    (tmp_path / "full_card.py").write_text(FULL_CARD)
    card = "rtx4090-24g"
    recorded = record_python(tmp_path, tmp_path / "full_card.py", profile=card)
    peak = recorded.report()["devices"][0]["peak"]
    was = ("--was", "64x4096")
    for options in ((), ("--gpu", card)):
        found = scale(recorded.database, *was, *options)
        assert found["recorded_peak"]["reserved_bytes"] == peak["reserved_bytes"]
        assert found["peak"] == found["recorded_peak"]
        assert found["fits"] is True and found["retries"] > 0
    larger = scale(recorded.database, *was, "--gpu", "h100-80g")
    assert larger["recorded_peak"] == found["peak"] and larger["retries"] == 0
    assert larger["peak"]["reserved_bytes"] > 2 * peak["reserved_bytes"]
    assert scale(recorded.database, *was, "--vram", "12GiB")["fits"] is False


# 24 layers that keep 16 MiB each; three places where it may end.
ENDS = """
import os, torch
net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(24))).cuda()
optimizer = torch.optim.Adam(net.parameters())
x = torch.zeros(4096, 1024, device="cuda")
for step in range(3):
    loss = net(x).sum()
    %s
    loss.backward()
    %s
    optimizer.step()
    optimizer.zero_grad()
%s
"""
KILL = "os.kill(os.getpid(), 9)"
EARLY = {"forward": (ENDS % (KILL, "", ""), "h100-80g", "was killed", "before any backward pass"),
         "backward": (ENDS % ("", KILL, ""), "h100-80g", "was killed", "before the end of its first optimizer step"),
         "error": (ENDS % ("1 / 0", "", ""), "h100-80g", "ended with an error", "before any backward pass"),
         "second": (ENDS % ("", "if step: " + KILL, ""), "h100-80g", "was killed", "before the end of its second step"),
         "memory": (ENDS % ("", "", ""), "h100-80g,memory=1GiB", "ended out of memory", "before any backward pass")}


@pytest.mark.parametrize("ends", EARLY)
def test_what_ended_before_a_whole_step_is_not_said_to_fit(ends, tmp_path):
    program, card, *words = EARLY[ends]
    (tmp_path / "ends.py").write_text(program)
    database = record_python(tmp_path, tmp_path / "ends.py", profile=card).database
    options = ("--was", "4096", "--batch", "2048")
    found = scale(database, *options)
    assert found["fits"] is None and all(word in found["note"] for word in words), found["note"]
    text = vtrace("estimate", "--from", database, *options).stdout
    assert f"note: {found['note']}\n" in text and ": fits" not in text
    assert scale(database, *options, "--vram", "600MiB")["fits"] is False


def test_what_ended_behind_a_whole_step_may_fit(tmp_path):
    (tmp_path / "ends.py").write_text(ENDS % ("", "", KILL))
    found = scale(record_python(tmp_path, tmp_path / "ends.py").database, "--was", "4096", "--batch", "2048")
    assert found["fits"] is True and found["note"] is None


# Asks once more where the first request failed.
GOES_ON = """
import torch
for gib in (6, 1):
    try:
        x = torch.empty(8, gib << 27, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
"""


def test_what_comes_behind_a_served_request_is_not_known(tmp_path):
    (tmp_path / "goes_on.py").write_text(GOES_ON)
    found = scale(record_python(tmp_path, tmp_path / "goes_on.py", profile="h100-80g,memory=4GiB").database,
                  "--was", "8", "--vram", "40GiB")
    assert found["fits"] is None and "would succeed" in found["note"]


@pytest.mark.parametrize("options, words", (
    (("llama-3-8b",), "no MODEL"), (("--train",), "no MODEL"), (("--dtype", "fp32"), "no MODEL"),
    (("--what-if", "batch=1"), "no MODEL"), (("--was", "0x4"), "--was 0x4"), (("--was", "4x"), "--was 4x"),
    (("--was", "1024x134217728"), "--was 1024x134217728"), (("--batch", "0"), "--batch 0"),
    (("--vram", "5"), "with a unit")))
def test_what_it_does_not_take(recorded, options, words):
    done = vtrace("estimate", "--from", recorded.database, *options)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_what_cannot_be_scaled(recorded, tmp_path):
    driver = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2").database
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"no database")
    for database, word in ((driver, "no blocks of a framework"),
                           (junk, "junk.db"), (tmp_path / "absent.db", "absent.db")):
        done = vtrace("estimate", "--from", database)
        assert done.returncode == 3 and word in done.stderr and len(done.stderr.splitlines()) == 1
    done = vtrace("estimate", "--from", recorded.database, "--was", "4", "--seq", "8")
    assert done.returncode == 3 and "no sequence" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda e: e.name)
def test_programs_that_nobody_tuned_for(scaling, tmp_path):
    allocated, measured = compare(tmp_path, scaling)["allocated"]
    assert allocated == pytest.approx(measured, rel=0.1)
