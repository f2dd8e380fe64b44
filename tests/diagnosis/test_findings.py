# SPDX-License-Identifier: MIT
"""Findings of reports: a program with the fault gets it, and loses as many bytes as foretold when it is mended.

Of every finding there are three programs (workloads/faults.py): one that has the fault, the same without it, and one
that looks like it and has it not.
"""
import json
import re

import pytest

from recording import PYTHON, SOURCE, record, record_python, vtrace

MIB = 1 << 20
QUICK = ["logits-kept-whole"]
SLOW = ["logits-chunks-kept", "equal-buffers", "logits-of-all-tokens", "optimizer-states-wide", "optimizer-burst",
        "gradients-in-forward", "results-kept", "activations-kept", "attention-scores", "frozen-weights-wide",
        "fragmentation", "cache-after-load", "repeated-keys", "gradients-twice", "wide-cache", "library-workspaces",
        "rounded-requests", "growth", "graph-unused", "predictions-gathered", "weights-twice", "module-unused",
        "states-unused"]
ENGINES = ["trial-of-requests", "trial-of-tokens"]  # test_engine.py
CONTEXTS = ["context-elsewhere", "context-of-worker"]  # e2e/test_idle_contexts.py
CASES = QUICK + [pytest.param(case, marks=pytest.mark.full) for case in SLOW]
REPLAYED = ("fragmentation", "cache-after-load", "rounded-requests")
ALLOCATOR, CUBLAS = "PYTORCH_CUDA_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG"
SETTINGS = {
    ("fragmentation", "fixed"): {ALLOCATOR: "expandable_segments:True"},
    ("rounded-requests", "fault"): {ALLOCATOR: "roundup_power2_divisions:2"},
    ("rounded-requests", "near"): {ALLOCATOR: "roundup_power2_divisions:2"},
    ("library-workspaces", "fixed"): {CUBLAS: ":4096:2:16:8"},
    ("library-workspaces", "near"): {CUBLAS: ":4096:8"},  # as large, but wanted: results are the same in each run
}


def test_each_finding_has_its_programs():
    table = (SOURCE / "analyzer" / "diagnosis" / "finding_table.def").read_text()
    ids = re.findall(r'^VT_FINDING\(\w+,\s*"([^"]+)"', table, re.M)
    assert len(ids) == table.count("\nVT_FINDING(")
    assert sorted(ids) == sorted(QUICK + SLOW + ENGINES + CONTEXTS)


def mended(case, how, directory):
    recording = record_python(directory, "faults.py", case, how, env=SETTINGS.get((case, how)))
    assert recording.process.returncode == 0, recording.process.stderr
    recording.own_peak = json.loads(recording.process.stdout.splitlines()[-1])
    return recording


def finding(recording, case):
    return next((f for f in recording.report()["findings"] if f["id"] == case), None)


@pytest.mark.parametrize("case", CASES)
def test_the_fault_is_found_and_saves_what_is_foretold(case, tmp_path):
    for how in ("fault", "fixed"):
        (tmp_path / how).mkdir()
    fault = mended(case, "fault", tmp_path / "fault")
    fixed = mended(case, "fixed", tmp_path / "fixed")
    found = finding(fault, case)
    assert found and found["proved_by"] == ("replay" if case in REPLAYED else "arithmetic")
    key = "reserved" if case in REPLAYED else "allocated"
    assert found["saves_bytes"] == pytest.approx(fault.own_peak[key] - fixed.own_peak[key], rel=0.05)
    assert found["saves_bytes"] == found["lowers_used_bytes" if case in REPLAYED else "lowers_allocated_bytes"]
    assert finding(fixed, case) is None
    text = vtrace("report", fault.database).stdout
    assert f"(finding:{case})" in text[text.index("FINDINGS"):]
    if case not in REPLAYED:
        assert "faults.py:" in found["where"]


def test_the_two_peaks_are_lowered_by_what_is_stated_of_each(tmp_path):
    """The results of the step before are given back while the cache keeps what is free: both peaks are measured."""
    for how in ("fault", "fixed"):
        (tmp_path / how).mkdir()
    fault, fixed = (mended("results-kept", how, tmp_path / how) for how in ("fault", "fixed"))
    found = finding(fault, "results-kept")
    used = [r.report()["devices"][0]["peak"]["device_used_bytes"] for r in (fault, fixed)]
    assert found["lowers_allocated_bytes"] == pytest.approx(
        fault.own_peak["allocated"] - fixed.own_peak["allocated"], rel=0.05)
    assert found["lowers_used_bytes"] == pytest.approx(used[0] - used[1], rel=0.05)
    text = vtrace("report", fault.database).stdout
    heading = next(line for line in text.splitlines() if line.startswith("FINDINGS"))
    assert heading.split()[-4:] == ["lowers", "allocated", "lowers", "used"]


def test_results_of_a_micro_batch_that_are_alive_in_the_next_are_found(tmp_path):
    variants = ("micro", "micro-fixed", "micro-near")
    for how in variants:
        (tmp_path / how).mkdir()
    fault, fixed, near = (mended("results-kept", how, tmp_path / how) for how in variants)
    found = finding(fault, "results-kept")
    assert found and finding(fixed, "results-kept") is None and finding(near, "results-kept") is None
    assert found["lowers_allocated_bytes"] == pytest.approx(
        fault.own_peak["allocated"] - fixed.own_peak["allocated"], rel=0.05)


@pytest.mark.full
def test_gradients_of_scores_that_were_scaled_in_place_are_counted(tmp_path):
    for how in ("in-place", "fixed"):
        (tmp_path / how).mkdir()
    fault, fixed = (mended("attention-scores", how, tmp_path / how) for how in ("in-place", "fixed"))
    assert finding(fault, "attention-scores")["lowers_allocated_bytes"] == pytest.approx(
        fault.own_peak["allocated"] - fixed.own_peak["allocated"], rel=0.05)


@pytest.mark.full
def test_layers_of_a_sequential_model_are_layers(tmp_path):
    """Their modules have numbers for names, and nothing before them."""
    found = finding(mended("activations-kept", "nested", tmp_path), "activations-kept")
    assert found and ", of 8 layers (Sequential)" in found["text"]


@pytest.mark.full
def test_layers_are_found_below_other_numbers(tmp_path):
    """In "0.layers.3" the second number counts the layers; their class is named."""
    found = finding(mended("activations-kept", "wrapped", tmp_path), "activations-kept")
    assert found and ", of 6 layers (Layer)" in found["text"]


@pytest.mark.full
def test_a_backward_pass_that_ran_out_of_memory_still_tells_what_checkpointing_saves(tmp_path):
    recording = record_python(tmp_path, "faults.py", "activations-kept", "nested", profile="h100-80g,memory=2000MiB")
    assert "OutOfMemoryError" in recording.process.stderr
    report = recording.report()
    found = finding(recording, "activations-kept")
    assert found and found["saves_bytes"] > 0.4 * report["out_of_memory"]["allocated_bytes"]


def test_an_average_with_other_names_is_not_frozen(tmp_path):
    assert finding(mended("frozen-weights-wide", "averaged", tmp_path), "frozen-weights-wide") is None


def test_a_graph_after_which_the_program_gave_up_is_not_unused(tmp_path):
    recording = record_python(tmp_path, "faults.py", "graph-unused", "raised")
    assert recording.process.returncode == 1 and "the loss is not finite" in recording.process.stderr
    assert finding(recording, "graph-unused") is None


SECOND = ["logits-chunks-kept", "logits-of-all-tokens", "optimizer-states-wide", "gradients-in-forward",
          "activations-kept", "frozen-weights-wide", "fragmentation", "cache-after-load", "gradients-twice"]


@pytest.mark.parametrize("case", CASES)
def test_what_looks_like_it_is_not_taken_for_it(case, tmp_path):
    assert finding(mended(case, "near", tmp_path), case) is None


@pytest.mark.full
@pytest.mark.parametrize("case", SECOND)
def test_nor_is_what_looks_like_it_in_another_way(case, tmp_path):
    """Conditions that the first of its kind does not come to."""
    assert finding(mended(case, "near2", tmp_path), case) is None


def test_findings_come_by_bytes_and_have_a_page_each(tmp_path):
    found = mended("logits-kept-whole", "fault", tmp_path).report()["findings"]
    assert len(found) > 1
    assert [f["saves_bytes"] for f in found] == sorted((f["saves_bytes"] for f in found), reverse=True)
    for one in found:
        page = vtrace("explain", f"finding:{one['id']}")
        assert page.returncode == 0 and page.stdout.startswith(f"finding:{one['id']}")
        assert "WHEN IT IS FOUND" in page.stdout and "WHAT IT SAVES" in page.stdout
    assert vtrace("explain", "finding:nonsense").returncode == 2


@pytest.mark.parametrize("case, share", [("optimizer-states-wide", "a fifth"), ("wide-cache", "a fifth"),
                                         ("activations-kept", "a quarter"), ("library-workspaces", "5 %")])
def test_a_page_says_how_much_of_the_peak_a_finding_asks_for(case, share):
    said = " ".join(vtrace("explain", f"finding:{case}").stdout.split())
    assert f"{share} of the peak or more" in said


def test_a_page_is_json_too_and_stands_behind_a_recording_that_was_named():
    plain = vtrace("explain", "finding:growth").stdout
    assert vtrace("explain", "no-such-file.db", "finding:growth").stdout == plain
    for words in (("--json", "finding:growth"), ("finding:growth", "--json"), ("x.db", "finding:growth", "-j")):
        page = json.loads(vtrace("explain", *words).stdout)
        assert page["format"] == 1 and page["id"] == "growth"
        assert all(page[key] for key in ("what", "fix", "found", "saves"))
    assert vtrace("explain", "x.db", "finding:nonsense").returncode == 2


def test_the_optimizer_s_finding_says_all_that_it_would_save(tmp_path):
    found = finding(mended("optimizer-states-wide", "fault", tmp_path), "optimizer-states-wide")
    said = sum(float(mib) for mib in re.findall(r"([0-9.]+) MiB", found["text"]))
    assert 0 < found["saves_bytes"] <= said * MIB


def test_the_shared_tables_of_the_tour(tmp_path):
    """36 layers with two rotary tables each."""
    recording = record_python(tmp_path, "long_context.py", "--context", "65536")
    found = finding(recording, "equal-buffers")
    assert found["text"].split(": ")[1].startswith("72 of up to 10.00 MiB (cosines, sines)")
    assert found["saves_bytes"] == pytest.approx(70 * 10 * MIB, abs=MIB)  # one has a tail


def test_training_that_failed_in_its_forward_is_not_told_to_drop_its_logits(tmp_path):
    recording = record_python(tmp_path, "transformers_step.py", "--batch", "16", profile="h100-80g,memory=3GiB")
    assert "OutOfMemoryError" in recording.process.stderr and recording.process.returncode == 1
    report = recording.report()
    assert report["out_of_memory"]["requested_bytes"] > 0
    ids = {f["id"] for f in report["findings"]}
    assert not ids & {"logits-of-all-tokens", "results-kept"}


HAND_OVER = """
import torch
encoder = torch.nn.Linear(1024, 65536).to("cuda")
decoder = torch.nn.Sequential(torch.nn.Linear(65536, 64), torch.nn.Linear(64, 65536)).to("cuda")
with torch.no_grad():
    states = encoder(torch.zeros(512, 1024, device="cuda"))
    for _ in range(3):
        decoder(states)
"""


@pytest.mark.full
def test_what_one_model_hands_to_another_is_no_kept_result(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", HAND_OVER)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "results-kept") is None


@pytest.mark.full
def test_a_graph_that_hangs_on_a_variable_through_a_forward_without_gradients(tmp_path):
    """The profile by hand of a long context: the first layer's graph is alive while the whole model runs."""
    recording = record_python(tmp_path, "long_context.py", "--context", "65536", "--layers", "4")
    found = finding(recording, "results-kept")
    assert found and found["saves_bytes"] > 0
    assert "activations-kept" not in {f["id"] for f in recording.report()["findings"]}


PILE = """
import torch
model = torch.nn.Linear(1024, 4096).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for _ in range(12):
    y = model(torch.zeros(1024, 1024, device="cuda"))
    history.append(y)
    y.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.full
def test_a_list_that_keeps_results_is_told_once(tmp_path):
    """As growth, which knows the list; not as results of the last pass, too."""
    recording = record(tmp_path, PYTHON, "-c", PILE)
    found = finding(recording, "growth")
    assert found and "history" in found["text"]
    assert finding(recording, "results-kept") is None


SKIPPED = """
import torch
from torch import nn
model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))])
model.to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in (4096, 4096, 100000, 4096, 4096):
    try:
        optimizer.zero_grad()
        model(torch.randn(rows, 512, device="cuda")).mean().backward()
        optimizer.step()
    except torch.OutOfMemoryError:
        print("skipped")
"""


def test_a_forward_that_ran_out_of_memory_is_no_unused_graph(tmp_path):
    """The program catches it and goes on with the next batch."""
    recording = record(tmp_path, PYTHON, "-c", SKIPPED, profile="h100-80g,memory=4GiB")
    assert recording.process.stdout == "skipped\n", recording.process.stderr
    assert finding(recording, "graph-unused") is None


RANKED = """
import torch
users, items = (torch.nn.Embedding(n, 64).to("cuda") for n in (20000, 5000))
optimizer = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
for _ in range(3):
    left, right = (table(torch.randint(0, 5000, (1024,), device="cuda")) for table in (users, items))
    torch.nn.functional.cross_entropy(left @ right.T, torch.arange(1024, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    best = (users.weight @ items.weight.T).topk(10)
"""


def test_scores_that_nothing_is_trained_with_are_not_told_to_split_their_loss(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", RANKED)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "logits-kept-whole") is None


ALTERNATING = """
import torch
from torch import nn
def net(width):
    return nn.Sequential(nn.Linear(512, width), nn.ReLU(), nn.Linear(width, 512)).to("cuda")
maker, critic = net(2048), net(6144)
steps = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (maker, critic)]
for _ in range(4):
    critic.zero_grad()
    critic(torch.randn(2048, 512, device="cuda")).mean().backward()
    made = maker(torch.randn(4096, 512, device="cuda"))
    critic(made.detach()).mean().backward()
    steps[1].step()
    maker.zero_grad()
    critic(made).mean().backward()
    steps[0].step()
"""


def test_old_gradients_at_the_peak_are_those_of_steps_before(tmp_path):
    """Of two networks in turn, the maker's: not those of the critic, which this step has made."""
    recording = record(tmp_path, PYTHON, "-c", ALTERNATING)
    found = finding(recording, "gradients-in-forward")
    said = float(re.match(r"[^:]*: ([0-9.]+) MiB of an earlier step", found["text"])[1]) * MIB
    assert said == pytest.approx(found["saves_bytes"], rel=0.05)


GENERATED = """
import torch
from torch import nn
model = nn.Sequential(nn.Embedding(32000, 256), nn.Linear(256, 32000, bias=False)).to("cuda", torch.bfloat16)
with torch.no_grad():
    for length in (512, 512, 1024):
        model(torch.zeros(4, length, dtype=torch.long, device="cuda"))
"""


def test_positions_are_counted_in_the_type_of_the_head(tmp_path):
    """2 bytes for each of 1,024 positions are as many as 4 for each of 512."""
    recording = record(tmp_path, PYTHON, "-c", GENERATED)
    found = finding(recording, "logits-of-all-tokens")
    assert found and " 512 positions" not in found["text"], found


MIXED = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(512, 2048), nn.Linear(2048, 512)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), *[Block() for _ in range(6)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8192, 256, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_layers_of_several_classes_are_named_by_those_that_keep_most(tmp_path):
    found = finding(record(tmp_path, PYTHON, "-c", MIXED), "activations-kept")
    assert found and re.search(r", of \d layers, 6 of them Block$", found["text"]), found


ATTACKED = """
import torch
from torch import nn
model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(1024, 1024), nn.GELU())]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(512, 1024, device="cuda")
    for _ in range(3):
        x = x.detach().requires_grad_()
        loss = model(x).mean()
        {late}
        loss.backward()
        {early}
        x = x + 0.1 * x.grad.sign()
    loss = model(x.detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.full
def test_gradients_that_a_search_leaves_in_the_weights_are_old_in_its_next_forward(tmp_path):
    """They are cleared unused in the step that made them: no optimizer reads them, nothing is added to them."""
    peaks = []
    for how, words in (("late", {"late": "model.zero_grad()", "early": ""}),
                       ("early", {"late": "", "early": "model.zero_grad()"})):
        (tmp_path / how).mkdir()
        recording = record(tmp_path / how, PYTHON, "-c", ATTACKED.format(**words))
        peaks.append((finding(recording, "gradients-in-forward"),
                      recording.report()["devices"][0]["peak"]["allocated_bytes"]))
    (found, before), (none, after) = peaks
    assert found and " of a pass before" in found["text"] and none is None
    assert found["saves_bytes"] == pytest.approx(before - after, rel=0.05)


HELD_AGAINST = """
import copy, torch
from torch import nn
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)])
other = copy.deepcopy(model).requires_grad_(False)
model.to("cuda"), other.to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(64, 2048, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        with torch.no_grad():
            aim = other(x)
        loss = (model(x) - aim).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if {is_average}:
        with torch.no_grad():
            for mean, p in zip(other.parameters(), model.parameters()):
                mean.lerp_(p, 0.01)
"""


@pytest.mark.full
@pytest.mark.parametrize("is_average", [False, True])
def test_a_copy_that_training_is_held_against_may_be_narrow_but_not_an_average(is_average, tmp_path):
    """Both have the names of what is trained, and steps compute with both."""
    recording = record(tmp_path, PYTHON, "-c", HELD_AGAINST.format(is_average=is_average))
    found = finding(recording, "frozen-weights-wide")
    assert (found is None) == is_average, found
    assert is_average or found["saves_bytes"] >= 6 * 2048 * 2048 * 2


JUDGED_TWICE = """
import torch
from torch import nn
critic = nn.Sequential(*[nn.Conv2d(16, 16, 3, padding=1, stride=1) for _ in range(8)]).to("cuda")
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(3):
    real, false = (torch.randn(16, 16, 64, 64, device="cuda") for _ in range(2))
    (critic(real).mean() - critic(false).mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_layers_that_keep_their_input_alone_are_not_to_be_checkpointed(tmp_path):
    """Also if they are called twice before the backward pass: each call has an input."""
    recording = record(tmp_path, PYTHON, "-c", JUDGED_TWICE)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "activations-kept") is None


GENERATES = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(vocab_size=4000, n_embd=256, n_layer=4, n_head=4)).to("cuda").eval()
for _ in range(3):
    ids = torch.randint(4000, (8, 256)).to("cuda")
    out = model.generate(ids, do_sample=False, max_new_tokens=6, return_dict_in_generate=True, pad_token_id=0)
    {words}
"""


@pytest.mark.full
def test_the_cache_of_one_generation_is_not_to_outlive_the_next(tmp_path):
    """It hangs on what generate() returned; without training caches are kept for a purpose otherwise."""
    peaks = []
    for how, words in (("fault", ""), ("fixed", "del out")):
        (tmp_path / how).mkdir()
        recording = record(tmp_path / how, PYTHON, "-c", GENERATES.format(words=words))
        assert recording.process.returncode == 0, recording.process.stderr
        peaks.append((finding(recording, "results-kept"),
                      recording.report()["devices"][0]["peak"]["allocated_bytes"]))
    (found, before), (none, after) = peaks
    assert none is None
    assert found and found["saves_bytes"] == pytest.approx(before - after, rel=0.05)


LAST_ONLY = """
import torch
from torch import nn
embedding, layer, head = nn.Embedding(16000, 256), nn.Linear(256, 512), nn.Linear(512, 16000, bias=False)
model = nn.Sequential(embedding, layer).to("cuda")
head.to("cuda")
with torch.no_grad():
    for _ in range(3):
        states = model(torch.zeros(8, 96, dtype=torch.long, device="cuda"))[:, -1]
        head(states.repeat(4, 1)).log_softmax(-1)
"""


def test_scores_of_the_last_position_in_beams_are_not_those_of_a_whole_prompt(tmp_path):
    """32 rows of 16,000 are nearly as many bytes as 768 positions of a layer's 512."""
    recording = record(tmp_path, PYTHON, "-c", LAST_ONLY)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "logits-of-all-tokens") is None


PERPLEXITY = """
import torch
from torch import nn
model = nn.Sequential(nn.Embedding(16000, 256), nn.Linear(256, 16000, bias=False)).to("cuda", torch.bfloat16)
with torch.no_grad():
    for _ in range(4):
        ids = torch.zeros(2, 256, dtype=torch.long, device="cuda")
        total = torch.nn.functional.cross_entropy(model(ids).float().flatten(0, 1), ids.flatten())
        print(total.item())
"""


def test_a_likelihood_needs_the_scores_of_all_tokens(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", PERPLEXITY)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "logits-of-all-tokens") is None


PENALISED = """
import torch
from torch import nn
body = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048)).to("cuda")
head = nn.Linear(2048, 10).to("cuda")
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
old = [p.detach().clone() for p in body.parameters()]
for _ in range(3):
    scores = head(body(torch.randn(64, 512, device="cuda")))
    loss = nn.functional.cross_entropy(scores, torch.zeros(64, dtype=torch.long, device="cuda"))
    for p, q in zip(body.parameters(), old):
        loss = loss + ((p - q) ** 2).sum()
    del scores
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_follows_a_call_that_kept_nothing_is_no_graph_of_it(tmp_path):
    """The head keeps its input, which the body made; the penalty behind it is of the weights."""
    recording = record(tmp_path, PYTHON, "-c", PENALISED)
    assert recording.process.returncode == 0, recording.process.stderr
    assert finding(recording, "graph-unused") is None


SCORED = """
import torch
from torch import nn
model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU())]).to("cuda")
def score(x):
    y = model(x)
    wide = y.repeat(1, 16).log_softmax(-1)
    return wide.gather(1, torch.zeros(len(x), 1, dtype=torch.long, device="cuda"))
with torch.set_grad_enabled({has_grad}):
    for _ in range(4):
        best = score(torch.randn(1024, 512, device="cuda"))
"""


@pytest.mark.full
def test_what_a_function_made_of_a_result_may_be_gone_before_its_next_call(tmp_path):
    """Its local variables are: what the graph holds of them may be saved, but other programs hold it themselves."""
    peaks = []
    for has_grad in (True, False):
        (tmp_path / str(has_grad)).mkdir()
        recording = record(tmp_path / str(has_grad), PYTHON, "-c", SCORED.format(has_grad=has_grad))
        peaks.append((finding(recording, "graph-unused"),
                      recording.report()["devices"][0]["peak"]["allocated_bytes"]))
    (found, before), (none, after) = peaks
    assert found and found["is_lower_bound"] and none is None
    most = float(re.search(r"up to ([0-9.]+) MiB less", found["text"])[1]) * MIB
    assert found["saves_bytes"] < 0.95 * (before - after) and most == pytest.approx(before - after, rel=0.05)


HANDED_ON = """
import torch
from torch import nn
class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.last = nn.Linear(256, 1024), nn.Linear(1024, 64), nn.Linear(64, 8)
    def forward(self, x):
        states = self.up(x)
        return states, self.last(self.down(states))
first, second = Both().to("cuda"), nn.Linear(1024, 4096).to("cuda")
with torch.set_grad_enabled({has_grad}):
    for _ in range(4):
        states, scores = first(torch.randn(4096, 256, device="cuda"))
        wide = second(states)
        del states
"""


def test_a_pass_may_have_several_results_for_the_next(tmp_path):
    """The one that it made last is not all that the program holds without a graph."""
    recordings = []
    for has_grad in (True, False):
        (tmp_path / str(has_grad)).mkdir()
        recordings.append(record(tmp_path / str(has_grad), PYTHON, "-c", HANDED_ON.format(has_grad=has_grad)))
        assert recordings[-1].process.returncode == 0, recordings[-1].process.stderr
    found = finding(recordings[0], "graph-unused")
    before, after = (r.report()["devices"][0]["peak"]["allocated_bytes"] for r in recordings)
    assert (found["saves_bytes"] if found else 0) == pytest.approx(before - after, rel=0.05, abs=0.02 * before)


RETAINED = """
import torch
from torch import nn
model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU())]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(10):
    loss = model(torch.randn(2048, 512, device="cuda")).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss)
"""


@pytest.mark.full
def test_graphs_that_were_used_and_pile_up_cost_at_least_what_they_leave(tmp_path):
    """Without retain_graph much of the last one would have gone in its own backward pass."""
    found = finding(record(tmp_path, PYTHON, "-c", RETAINED), "growth")
    assert found and found["is_lower_bound"]


IN_PLACE = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
model = nn.Sequential(*[nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
                        for _ in range(6)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def loss(x):
    for layer in model:
        x = checkpoint(layer, x, use_reentrant=False) if {is_checkpointed} else layer(x)
    return x.mean()
for _ in range(3):
    loss(torch.randn(8, 32, 128, 128, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_output_of_a_layer_is_no_statistic_of_its_norm(tmp_path):
    """A norm makes its statistics last, and an activation in place nothing: a checkpoint keeps what the norm made."""
    recordings = []
    for is_checkpointed in (False, True):
        (tmp_path / str(is_checkpointed)).mkdir()
        recordings.append(record(tmp_path / str(is_checkpointed), PYTHON, "-c",
                                 IN_PLACE.format(is_checkpointed=is_checkpointed)))
        assert recordings[-1].process.returncode == 0, recordings[-1].process.stderr
    found = finding(recordings[0], "activations-kept")
    before, after = (r.report()["devices"][0]["peak"]["allocated_bytes"] for r in recordings)
    assert found and found["saves_bytes"] == pytest.approx(before - after, rel=0.05)
