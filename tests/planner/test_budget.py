# SPDX-License-Identifier: MIT
"""vtrace estimate --budget: the cheapest sets of changes that fit, planned again with these changes."""
import json

import pytest

from recording import PYTHON, vtrace
from test_estimate import refused

H, L, A, KV, D, I, V = 512, 6, 8, 4, 64, 1408, 16000
LLAMA = {"model_type": "llama", "hidden_size": H, "num_hidden_layers": L, "num_attention_heads": A,
         "num_key_value_heads": KV, "intermediate_size": I, "vocab_size": V, "tie_word_embeddings": False}
RUNS = ("llama-3.2-1b --batch 8", "llama-3-8b --batch 1", "gpt2 --batch 8", "qwen2.5-1.5b --batch 4 --attention eager",
        "mixtral-8x7b --batch 1", "phi-3-mini --batch 2 --optimizer momentum", "gemma-2-2b --batch 4",
        "llama-3-8b --batch 4 --data-parallel 4", "t5-base --batch 16 --seq 512",
        "qwen3-0.6b --batch 6 --keep-logits yes",
        "llama-3.2-1b --batch 8 --autocast bf16 --dtype fp32")
PRICES = ["nothing", "recomputation", "rounding", "copies"]


def search(model, *options):
    done = vtrace("estimate", "--json", *model.split(), "--train", *options)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout) | {"code": done.returncode}


def planned(model, found, *options):
    """The verdict and the peak of a plan with these changes on top."""
    words = [word for change in found["changes"] for word in (f"--{change['option']}", change["value"])]
    done = vtrace("estimate", "--json", *model.split(), "--train", *options, *words)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    return plan["gpus"][0]["fit"], plan["peak"]["bytes"]


def peak(model):
    done = vtrace("estimate", "--json", *model.split(), "--train")
    return json.loads(done.stdout)["peak"]["bytes"]


@pytest.mark.parametrize("share", (0.9, 0.6))
@pytest.mark.parametrize("model", RUNS)
def test_what_is_found_fits_and_what_is_cheaper_does_not(model, share):
    budget = int(peak(model) * share)
    found = search(model, "--budget", f"{budget}B")
    assert found["usable_bytes"] == budget and found["code"] == (0 if found["sets"] else 1)
    for chosen in found["sets"]:
        fit, size = planned(model, chosen, "--vram", f"{budget}B")
        assert fit == chosen["fit"] and size == chosen["peak_bytes"]
        assert fit == "fits" or (fit == "may fit" and model.startswith("t5"))  # which was not compared with these
    keys = [(PRICES.index(s["price"]), s["recomputed_flops"]) for s in found["sets"]]
    assert keys == sorted(keys)
    if found["sets"]:
        cheaper = found["next_cheaper"]
        assert (PRICES.index(cheaper["price"]), cheaper["recomputed_flops"]) <= keys[0]
        assert planned(model, cheaper, "--vram", f"{budget}B")[0] != "fits"
    else:
        assert planned(model, found["least"], "--vram", f"{budget}B")[0] != "fits"


@pytest.mark.parametrize("share", (0.95, 0.9, 0.85))
def test_one_layer_less_would_not_fit(tmp_path, share):
    """Of the same other changes, every number of layers is planned."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    model = f"{path} --batch 16 --seq 1024 --dtype bf16"
    budget = f"{int(peak(model) * share)}B"
    found = [s for s in search(model, "--budget", budget)["sets"] if s["recomputed_layers"]]
    assert found
    for chosen in found:
        others = [c for c in chosen["changes"] if not c["option"].startswith("checkpoint")]
        fits = []
        for layers in range(1, L):
            changes = others + [{"option": "checkpointing", "value": "full"},
                                {"option": "checkpointed-layers", "value": str(layers)}]
            fits.append(planned(model, {"changes": changes}, "--vram", budget)[0] == "fits")
        assert fits == [layers >= chosen["recomputed_layers"] for layers in range(1, L)]


def test_the_price_is_the_forward_of_these_layers(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    model = f"{path} --batch 16 --seq 1024"
    found = search(model, "--budget", f"{int(peak(model) * 0.8)}B")
    chosen = next(s for s in found["sets"] if s["recomputed_layers"])
    tokens = 16 * 1024
    matrices = 2 * H * A * D + 2 * H * KV * D + 3 * H * I
    layer = tokens * (2 * matrices + 2 * 1024 * A * 2 * D)
    assert chosen["recomputed_flops"] == chosen["recomputed_layers"] * layer
    assert found["step_flops"] == 3 * (L * layer + 2 * tokens * H * V)
    assert chosen["more_computing"] == pytest.approx(chosen["recomputed_flops"] / found["step_flops"], rel=1e-5)


def test_what_fits_as_it_is_needs_no_change():
    found = search("gpt2", "--budget", "24GiB")
    assert found["sets"][0]["changes"] == [] and len(found["sets"]) == 1 and found["next_cheaper"] is None
    done = vtrace("estimate", "gpt2", "--train", "--budget", "24GiB", "--gpu", "h100-80g")
    assert done.returncode == 0 and "no change" in done.stdout and "h100-80g has 24.00 GiB" in done.stdout
    assert "\n\n\n" not in done.stdout


def test_what_nothing_makes_fit():
    done = vtrace("estimate", "llama-3-8b", "--train", "--budget", "1GiB")
    assert done.returncode == 1
    assert "no combination of changes fits 1.00 GiB" in done.stdout and "--offload" in done.stdout


@pytest.mark.parametrize("model, considered", (
    ("llama-3-8b", "--optimizer-loop fused, --checkpointing full, --checkpointed-layers N, --optimizer adamw8bit, "
                   "--offload optimizer"),
    ("gpt2 --optimizer sgd --keep-logits yes --attention eager", "--keep-logits no, --attention sdpa, "
     "--checkpointing full, --checkpointed-layers N, --offload optimizer"),
    ("t5-base", "--optimizer-loop fused, --checkpointing full, --optimizer adamw8bit, --offload optimizer")))
def test_what_was_considered_is_named(model, considered):
    done = vtrace("estimate", *model.split(), "--train", "--budget", "1GiB")
    line = next(line for line in done.stdout.splitlines() if line.startswith("considered, alone and combined: "))
    words = line.split(": ")[1].split(", ")
    assert done.returncode == 1 and sorted(words) == sorted(considered.split(", "))
    found = search(model, "--budget", "1GiB")["considered"]
    assert [f"--{change['option']} {change['value']}" for change in found] == words


@pytest.mark.parametrize("arguments, words", (
    (("gpt2", "--budget", "8GiB"), ("--budget", "--train")),
    (("gpt2", "--train", "--budget", "8"), ("--budget 8", "24GiB")),
    (("gpt2", "--train", "--budget", "8GiB", "--vram", "8GiB"), ("--budget and --vram",)),
    (("gpt2", "--train", "--budget", "90GiB", "--gpu", "h100-80g"), ("h100-80g has",)),
    (("gpt2", "--train", "--budget", "8GiB", "--what-if", "batch=1,2"), ("--budget excludes",)),
    (("gpt2", "--train", "--checkpointed-layers", "2"), ("--checkpointing full",)),
    (("gpt2", "--train", "--checkpointing", "full", "--checkpointed-layers", "13"), ("there are 12 layers",)),
    (("t5-base", "--train", "--checkpointing", "full", "--checkpointed-layers", "2"), ("layers are alike",)),
))
def test_wrong_usage(arguments, words):
    assert refused(vtrace("estimate", *arguments), 2, *words)


def test_a_run_of_what_was_found_stays_below(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    model = f"{path} --batch 4 --seq 512 --dtype bf16 --optimizer sgd --gpu h100-80g"
    context = {o["owner"]: o["bytes"] for o in search(model)["peak"]["owners"]}["context"]
    budget = int((peak(model) - context) * 0.95 + context)
    chosen = search(model, "--budget", f"{budget}B")["sets"][0]
    assert 0 < chosen["recomputed_layers"] < L
    sets = search(model, "--budget", f"{budget}B")["sets"]
    assert "optimizer" not in {change["option"] for found in sets for change in found["changes"]}
    done = vtrace("estimate", "--json", *model.split(), "--train", "--budget", f"{budget}B", "--run", "--python",
                  PYTHON, env={"XDG_CACHE_HOME": tmp_path / "cache"})
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["settings"]["checkpointed-layers"] == str(chosen["recomputed_layers"])
    assert run["gpus"][0]["usable_bytes"] == budget and run["gpus"][0]["fit"] in ("fits", "tight")
    assert chosen["peak_bytes"] - context == pytest.approx(run["peak"]["allocated_bytes"], rel=0.03)
