# SPDX-License-Identifier: MIT
"""vtrace diff: one training script changed in one way at a time, and what the first lines say of it."""
import json
import subprocess

import pytest

from recording import BUILD, PYTHON, SOURCE, WORKLOADS, record, vtrace

SCRIPT = "diff_training.py"
# name: (arguments, owner with the largest difference, sign, function of the place with the largest, words in RUNS)
CHANGES = {
    "batch": (["batch=5"], "logits", 1, "loss_of", "input"),
    "length": (["length=512"], "logits", 1, "loss_of", "input"),
    "layer": (["layers=4"], "activations/mlp", 1, "MLP.forward", None),
    "checkpointing": (["checkpoint=1"], "activations/mlp", -1, "MLP.forward", None),
    "eager attention": (["attention=eager"], "activations/attention", 1, "attend", None),
    "chunked loss": (["loss=chunked"], "logits", -1, "chunk_loss", None),  # where the line went
    "optimizer": (["optimizer=SGD"], "optimizer", -1, "main", None),
}
QUICK = ("batch", "optimizer")


def record_changed(directory, *arguments, script=None):
    recording = record(directory, PYTHON, script or WORKLOADS / SCRIPT, *arguments)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return record_changed(tmp_path_factory.mktemp("base"))


def diff(base, new, *options, code=0):
    done = vtrace("diff", base.database, new.database, "--json", *options)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def function_of(line):
    """The f of "backward of train.py:12 f"."""
    return line.split()[-1]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.full) for n in CHANGES])
def test_the_first_lines_name_the_change(base, tmp_path, name):
    arguments, owner, sign, function, word = CHANGES[name]
    found = diff(base, record_changed(tmp_path, *arguments))
    device = found["devices"][0]
    first, place = device["owners"][0], device["places"][0]
    assert (first["owner"], first["change_bytes"] * sign > 0) == (owner, True)
    assert function_of((place["new_stack"] or place["base_stack"])[0]) == function
    assert place["change_bytes"] * sign > 0
    assert found["is_different"] and device["allocated"]["change_bytes"] * sign > 0
    told = [row["what"] for row in found["runs"]]
    assert told[0] == "command" and (not word or any(w.startswith(word) for w in told))


@pytest.mark.full
def test_a_leak_is_a_place_that_is_new(base, tmp_path):
    device = diff(base, record_changed(tmp_path, "leak=1"))["devices"][0]
    place = device["places"][0]
    assert (place["what"], place["new_blocks"], function_of(place["new_stack"][0])) == ("new", 4, "main")
    assert device["allocated"]["change_bytes"] > 4 << 20


@pytest.mark.full
def test_another_type_changes_weights_and_states(base, tmp_path):
    owners = {o["owner"]: o for o in diff(base, record_changed(tmp_path, "dtype=float32"))["devices"][0]["owners"]}
    for owner in ("weights", "optimizer"):
        assert owners[owner]["new_bytes"] == pytest.approx(2 * owners[owner]["base_bytes"], rel=0.01)


@pytest.mark.parametrize("change", ("inserted", "renamed"))
def test_moved_lines_and_files_are_no_difference(base, tmp_path, change):
    text = (WORKLOADS / SCRIPT).read_text()
    if change == "inserted":
        # Above everything, and inside of a function.
        text = "\n" * 40 + text.replace("    kept = []\n", "    kept = []\n" + "    # a comment\n" * 15)
    script = tmp_path / ("another_name.py" if change == "renamed" else SCRIPT)
    script.write_text(text)
    new = record_changed(tmp_path, script=script)
    done = vtrace("diff", base.database, new.database, "--fail-on", "any")
    assert done.returncode == 0 and "no difference in memory" in done.stdout, done.stdout
    # It is the alignment that says so.
    exact = vtrace("diff", base.database, new.database, "--exact", "--fail-on", "any")
    assert exact.returncode == 1 and "FAILED any" in exact.stderr


@pytest.mark.full
def test_another_pytorch_keeps_the_places(base, tmp_path, torch_2_6):
    new = record(tmp_path, torch_2_6, WORKLOADS / SCRIPT)
    assert new.process.returncode == 0, new.process.stderr
    found = diff(base, new)
    assert "torch" in [row["what"] for row in found["runs"]]
    device = found["devices"][0]
    # Its own decisions may differ, the program's lines are found.
    assert device["places_equal"] > device["places_differing"]
    assert {p["what"] for p in device["places"]} <= {"grown", "shrunk", "new", "gone"}


@pytest.fixture
def torch_2_6():
    done = subprocess.run([SOURCE / "scripts" / "torch-venv", "2.6.0"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no PyTorch 2.6: " + done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def test_a_run_against_itself(base):
    found = diff(base, base, "--fail-on", "any", "--fail-on", "total:+0")
    assert (found["is_different"], found["runs"], found["failed"]) == (False, [], [])
    assert found["devices"][0]["places"] == [] and found["devices"][0]["places_equal"] > 10


@pytest.fixture(scope="module")
def shorter(tmp_path_factory):
    return record_changed(tmp_path_factory.mktemp("shorter"), "batch=3")


@pytest.mark.parametrize("threshold,code", (
    ("any", 1), ("total:+0", 1), ("total:+1TiB", 0), ("allocated:+1%", 1), ("allocated:+900%", 0),
    ("owner:activations:+10%", 1), ("owner:activations/mlp:+10%", 1), ("owner:weights:+0", 0),
    ("owner:kv cache:+0", 0), ("owner:user/ema:+0", 0), ("owner:context:+0", 0)))
def test_thresholds_decide_the_exit_code(base, shorter, threshold, code):
    found = diff(shorter, base, "--fail-on", threshold, code=code)
    assert [f["threshold"] for f in found["failed"]] == [threshold] * code
    # Less is never a failure, but "any" is any difference.
    assert vtrace("diff", base.database, shorter.database, "--fail-on", threshold).returncode == (threshold == "any")


@pytest.mark.parametrize("by,name", (("module", "layers.*.mlp"), ("file", SCRIPT), ("owner", "activations/mlp")))
def test_places_can_be_modules_and_files(base, shorter, by, name):
    places = diff(shorter, base, "--by", by)["devices"][0]["places"]
    assert any((p[by] or "").endswith(name) and p["change_bytes"] > 0 for p in places)


def test_an_owner_that_neither_run_has_is_said(base, shorter):
    done = vtrace("diff", shorter.database, base.database, "--fail-on", "owner:kv cache:+0",
                  "--fail-on", "owner:weights:+0")
    assert (done.returncode, done.stderr) == (0, "note: owner:kv cache:+0: neither run has bytes of that owner\n")


@pytest.mark.parametrize("owner", ("activ", "activatons", "activations/attn", "activations/mlp/x", "weights!",
                                   "Logits"))
def test_a_misspelt_owner_does_not_pass(base, shorter, owner):
    done = vtrace("diff", base.database, shorter.database, "--fail-on", f"owner:{owner}:+5%", "--json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f'--fail-on: unknown owner "{owner}" in' in done.stderr
    assert ": activation gradients, activations, " in done.stderr and "kv cache, logits" in done.stderr


def test_every_format_tells_the_same(base, shorter):
    text = vtrace("diff", shorter.database, base.database).stdout
    markdown = vtrace("diff", shorter.database, base.database, "--format", "markdown").stdout
    change = diff(shorter, base)["devices"][0]["owners"][0]
    assert f"{change['change_bytes'] / 2**20:+.2f} MiB" in text
    assert f"| {change['owner']} | " in markdown and f"{change['change_bytes'] / 2**20:+.2f} MiB |" in markdown


def test_the_verdict_comes_first(base, shorter):
    found = diff(shorter, base)
    text = vtrace("diff", shorter.database, base.database).stdout.splitlines()[0]
    assert text == found["verdict"] and text.startswith("peak allocated +")
    assert ": batch 3 -> 4 (" in text and "; logits +" in text
    assert "diff_training.py:77)" in text
    assert diff(base, base)["verdict"] == "no difference in memory"


@pytest.mark.parametrize("variables, options, start", (
    ({}, ("--repository", "https://example.com/a/b/", "--revision", "12"), "https://example.com/a/b/blob/12/"),
    ({"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "34"}, (),
     "https://github.com/a/b/blob/34/"),
    ({"CI_PROJECT_URL": "https://gitlab.com/a/b", "CI_COMMIT_SHA": "56", "GITLAB_CI": "true"}, (),
     "https://gitlab.com/a/b/-/blob/56/")))
def test_markdown_leads_to_the_lines(base, shorter, variables, options, start):
    text = vtrace("diff", shorter.database, base.database, "--format", "markdown", *options, env=variables).stdout
    assert text.startswith("### GPU memory: peak allocated +") and "| logits | " in text
    assert text.index("| logits |") < text.index("<details>")
    assert f"]({start}tests/workloads/diff_training.py#L77)" in text


def test_a_renamed_function_moved(base, tmp_path):
    """One line, no bytes: not all places below it."""
    script = tmp_path / SCRIPT
    script.write_text((WORKLOADS / SCRIPT).read_text().replace("loss_of(", "whole_loss("))
    new = record_changed(tmp_path, script=script)
    done = vtrace("diff", base.database, new.database, "--fail-on", "any")
    assert done.returncode == 0 and "no difference in memory; 1 call site moved" in done.stdout, done.stdout
    assert "diff_training.py loss_of -> diff_training.py whole_loss, " in done.stdout
    failed = vtrace("diff", base.database, new.database, "--fail-on", "moved")
    assert failed.returncode == 1 and "FAILED moved" in failed.stderr
    assert vtrace("diff", base.database, base.database, "--fail-on", "moved").returncode == 0


MODEL = "hidden = model.body(tokens).flatten(0, 1)"
TAKEN_OVER = ("def hidden_of(model, tokens):\n    return model.body(tokens)\n\n\n",
              "hidden = hidden_of(model, tokens).flatten(0, 1)")
WRAPPED = ("def noted(f):\n    def inner(*arguments):\n        return f(*arguments)\n    return inner\n\n\n",
           "hidden = noted(model.body)(tokens).flatten(0, 1)")


@pytest.mark.parametrize("added, call, moved", ((*TAKEN_OVER, ["loss_of", "hidden_of"]), (*WRAPPED, [])))
def test_a_call_that_another_function_makes_moved(base, tmp_path, added, call, moved):
    """All blocks of the model are made in the functions of before; only what calls it is another one."""
    script = tmp_path / SCRIPT
    text = (WORKLOADS / SCRIPT).read_text()
    assert MODEL in text
    script.write_text(text.replace(MODEL, call).replace("def loss_of", added + "def loss_of"))
    found = diff(base, record_changed(tmp_path, script=script), "--fail-on", "any")
    names = [(move["base"].split()[-1], move["new"].split()[-1]) for move in found["devices"][0]["moved"]]
    assert names == ([tuple(moved)] if moved else []) and not found["is_different"]


def test_a_stage_is_compared_with_the_same_stage(base, shorter):
    device = diff(shorter, base, "--at", "stage:forward")["devices"][0]
    assert (device["base_doing"], device["new_doing"]) == ("step 2, forward", "step 2, forward")


def test_what_cannot_be_compared_is_said(base, tmp_path):
    plain = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2")
    done = vtrace("diff", base.database, plain.database)
    assert done.returncode == 0 and "stacks" in done.stdout and "torch" in done.stdout
    for arguments, code, words in (
            ((base.database,), 2, "missing NEW"), ((), 2, "needs a recording"),
            ((base.database, base.database, base.database), 2, "only one NEW"),
            ((base.database, tmp_path / "none.db"), 3, "none.db"),
            ((base.database, base.database, "--at", "step:99"), 3, "no step 99"),
            ((base.database, base.database, "--by", "luck"), 2, "luck"),
            ((base.database, base.database, "--format", "pdf"), 2, "pdf"),
            ((base.database, base.database, "--fail-on", "total:5%"), 2, '"total:5%" needs an increase at its end'),
            ((base.database, base.database, "--fail-on", "owner:+5%"), 2, '"owner:+5%" needs an increase after'),
            ((base.database, base.database, "--fail-on", "owner:nonsense"), 2, "needs an increase after the owner"),
            ((base.database, base.database, "--fail-on", "owner::+5%"), 2, "needs an owner"),
            ((base.database, base.database, "--fail-on", "half:+5%"), 2, "must be any, moved"),
            ((base.database, base.database, "--device", "5"), 3, "on that device")):
        done = vtrace("diff", *arguments)
        assert (done.returncode, done.stdout) == (code, "") and words in done.stderr


def test_a_killed_run_is_compared_with_a_whole_one(base, tmp_path):
    killed = tmp_path / "killed.py"
    killed.write_text("import os\n" + (WORKLOADS / SCRIPT).read_text().replace(
        "        optimizer.zero_grad()\n", "        os.kill(os.getpid(), 9)\n"))
    new = record(tmp_path, PYTHON, killed)
    assert new.process.returncode == 137
    vtrace("info", new.database)
    found = diff(base, new)
    ended = next(row for row in found["runs"] if row["what"] == "ended")
    assert ended["base"] == "exit 0" and ended["new"] != "exit 0"
    assert found["incomplete"]["base"] is None
    assert found["incomplete"]["new"].startswith("the new run was killed")
    text = vtrace("diff", base.database, new.database).stdout
    assert "\nINCOMPLETE  the new run was killed" in text
    assert text.splitlines()[0].endswith("; the new run was killed"), text


def test_a_run_that_failed_is_no_improvement(base, tmp_path):
    """Less memory because of an out-of-memory does not pass a threshold."""
    new = record(tmp_path, PYTHON, WORKLOADS / SCRIPT, "batch=5", profile="h100-80g,memory=700MiB")
    assert "OutOfMemoryError" in new.process.stderr
    done = vtrace("diff", base.database, new.database, "--fail-on", "total:+900%")
    assert done.returncode == 1 and "FAILED the new run ended out of memory" in done.stdout + done.stderr
    text = vtrace("diff", base.database, new.database, "--format", "markdown").stdout
    assert "**Incomplete:** the new run ended out of memory" in text
    assert diff(new, base, "--fail-on", "total:+900%")["incomplete"]["new"] is None
