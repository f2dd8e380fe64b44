# SPDX-License-Identifier: MIT
"""vtrace estimate --run: the model itself, built from its configuration and run on the simulator."""
import json
import re
import sys

import pytest

from recording import PYTHON, vtrace

CONFIG = {"model_type": "qwen3", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 64,
          "num_key_value_heads": 2, "intermediate_size": 768, "vocab_size": 24000, "tie_word_embeddings": False}
SCRIPT = """
import torch

def make(batch, seq):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
    return model, {"input": torch.zeros(batch, seq, 1024).cuda()}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plans")


def write(folder, name, values):
    path = folder / name
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return path


def run(folder, *arguments, **environment):
    return vtrace("estimate", "--python", PYTHON, *arguments, env={"XDG_CACHE_HOME": folder / "cache", **environment})


def plan(folder, *arguments, **environment):
    done = run(folder, "--run", "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def trained(folder):
    return plan(folder, write(folder, "config.json", CONFIG), "--train", "--batch", 2, "--seq", 512)


def test_the_peak_is_pytorchs_own_and_formulas_are_beside(trained):
    assert trained["peak"]["allocated_bytes"] == trained["run"]["max_memory_allocated"]
    assert trained["run"]["class"] == "Qwen3ForCausalLM" and trained["peak_stage"] == "backward"
    assert {"load", "forward", "backward", "optimizer"} == {stage["name"] for stage in trained["stages"]}
    rows = {row["owner"]: row for row in trained["owners"]}
    parameters = trained["run"]["parameters"]
    assert parameters == 24000 * 256 * 2 + 2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 768 * 256 + 2 * 256 + 2 * 64) + 256
    assert 2 * parameters <= rows["weights"]["bytes"] < 2.05 * parameters
    assert rows["weights"]["formula_bytes"] == pytest.approx(rows["weights"]["bytes"], rel=0.01)
    assert sum(row["bytes"] for row in trained["owners"]) == \
        next(stage["allocated_bytes"] for stage in trained["stages"] if stage["name"] == "backward")
    assert {gpu["name"]: gpu["fit"] for gpu in trained["gpus"]}["gtx980-4g"] == "fits"


def test_the_second_question_is_answered_from_what_was_kept(trained, folder):
    again = plan(folder, folder / "config.json", "--train", "--batch", 2, "--seq", 512)
    assert again["run"].pop("is_kept") and again["run"] == {k: v for k, v in trained["run"].items() if k != "is_kept"}
    assert again["owners"] == trained["owners"]
    # The recording is one as any other.
    report = json.loads(vtrace("report", "--json", again["run"]["recording"]).stdout)
    assert report["devices"][0]["peak"]["max_allocated_bytes"] == again["peak"]["allocated_bytes"]


def test_a_card_that_is_too_small_is_said(trained, folder):
    low = trained["peak"]["allocated_bytes"] // 2**20 - 50
    found = plan(folder, folder / "config.json", "--train", "--batch", 2, "--seq", 512, "--vram", f"{low}MiB")
    assert found["gpus"][0]["fit"] == "does not fit"


def test_what_needs_the_cache_back_is_tried(trained, folder):
    """Between what tensors take and what the allocator reserved: only a run can say."""
    peak = trained["peak"]
    between = (peak["device_bytes"] + peak["allocated_bytes"] + peak["device_bytes"] - peak["reserved_bytes"]) // 2
    found = plan(folder, folder / "config.json", "--train", "--batch", 2, "--seq", 512, "--vram", f"{between}B")
    assert found["gpus"][0]["tried"] and found["gpus"][0]["fit"] in ("tight", "does not fit")


def test_a_script_of_ones_own(folder):
    path = write(folder, "own.py", SCRIPT)
    done = run(folder, "--build", f"{path}:make", "--train", "--batch", 4, "--seq", 128, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["run"]["parameters"] == 2 * 1024 * 4096 + 4096 + 1024 and found["formulas_error"]
    assert found["peak"]["allocated_bytes"] == found["run"]["max_memory_allocated"]
    assert all(row["formula_bytes"] is None for row in found["owners"])


def test_a_head_that_is_tied_while_it_is_built_is_no_peak(folder):
    """Built, it is there twice; a model that is loaded never has it."""
    config = CONFIG | {"vocab_size": 200000, "tie_word_embeddings": True}
    made = plan(folder, write(folder, "tied.json", config), "--batch", 1, "--seq", 16)
    peak = made["peak"]["allocated_bytes"]
    assert peak == made["run"]["max_memory_allocated"] == max(stage["allocated_bytes"] for stage in made["stages"])
    assert 2 * made["run"]["parameters"] + 2 * 200000 * 256 > peak


@pytest.mark.parametrize("line, message", (
    ("net, {'input': torch.zeros(2, 4).cuda()}", "the model must be on cuda, not on cpu"),
    ("net.cuda(), {'input': torch.zeros(2, 4)}", "the arguments must be on cuda, not on cpu"),
    ("net.cuda(), torch.zeros(2, 4).cuda()", "must return a model and a dict of its forward's arguments"),
    ("net.cuda()", "must return a model and a dict of its forward's arguments")))
def test_what_a_script_must_return(folder, line, message):
    path = write(folder, "wrong.py", f"import torch\n\ndef make(batch, seq):\n    net = torch.nn.Linear(4, 4)\n"
                                     f"    return {line}\n")
    done = run(folder, "--build", f"{path}:make")
    assert (done.returncode, done.stdout) == (3, "") and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("word", ("own.py", "own.py:", ":make", ".py:make", "own:make"))
def test_a_script_without_a_function_is_wrong_usage(word):
    done = vtrace("estimate", "--build", word)
    assert done.returncode == 2 and f"--build {word}: a file and its function" in done.stderr and not done.stdout


def test_a_name_in_the_local_cache(folder):
    """For formulas and runs alike; nothing is fetched."""
    model = folder / "hub" / "models--some--model"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("0123abc")
    (model / "snapshots" / "0123abc").mkdir(parents=True)
    write(model / "snapshots" / "0123abc", "config.json", CONFIG)
    done = vtrace("estimate", "some/model", "--json", env={"HF_HUB_CACHE": folder / "hub"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"]["family"] == "qwen3"
    assert vtrace("estimate", "other/model", env={"HF_HUB_CACHE": folder / "hub"}).returncode == 3


@pytest.mark.parametrize("values, arguments, message", (
    ({"model_type": "nobody"}, (), "model_type nobody: not known to transformers"),
    ({"hidden_size": 3}, (), "has neither model_type, _class_name nor architecture"),
    (CONFIG, ("--train", "--zero", 3, "--data-parallel", 8), "--data-parallel 8 cannot be run"),
    (CONFIG, ("--attention", "flash"), "--attention flash cannot be run"),
    ({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 2, "n_positions": 256, "vocab_size": 100},
     ("--seq", 250, "--new-tokens", 8), "the model's table has 256 positions"),
    (CONFIG | {"hidden_act": "nothing"}, ("--train", "--batch", 2, "--seq", 512), "cannot be run: KeyError"),
    ("{", (), "config"),
))
def test_what_cannot_be_run_is_one_line(folder, values, arguments, message):
    done = run(folder, "--run", write(folder, "wrong.json", values), *arguments)
    assert done.returncode == 3 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not done.stdout and not list((folder / "cache" / "vtrace" / "plans").glob("*.[0-9]*"))


def test_wrong_usage(folder):
    path = folder / "config.json"
    for arguments, message in ((("--python", sys.executable, path), "--python only applies with --run"),
                               (("--run", "--params", "7B"), "--run excludes"),
                               (("--run", "--from", path), "--run excludes")):
        done = vtrace("estimate", *arguments)
        assert done.returncode == 2 and message in done.stderr
    done = vtrace("estimate", "--run", "--python", "/nowhere/python", path, env={"XDG_CACHE_HOME": folder / "cache"})
    assert done.returncode == 3 and re.search("--python /nowhere/python: cannot be run", done.stderr)
