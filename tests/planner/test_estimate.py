# SPDX-License-Identifier: MIT
"""vtrace estimate as a command: formulas that say what was computed, options, bad input."""
import json
import math
import pathlib
import re

import pytest

from combinations import estimate
from independent import CONFIGS
from recording import vtrace

FAMILIES = json.loads((pathlib.Path(__file__).parent / "families.json").read_text())

MODES = (
    "llama-3-8b --train", "llama-3-8b --train --checkpointing full --loss fused --autocast bf16 --dtype fp32",
    "llama-3-8b --infer --batch 4 --new-tokens 100 --kv-dtype int8", "mixtral-8x7b --train --zero 3 --data-parallel 8",
    "deepseek-v3 --infer --seq 4096 --tensor-parallel 8", "qwen2.5-7b --train --lora 16 --quantise nf4-double",
    "gpt2 --train --optimizer adamw8bit --keep-logits yes", "llama-3-8b --train --attention eager --accumulate 4",
    "siglip-qwen2.5-1.5b --train --freeze vision --factor 4", "t5-small --infer --new-tokens 5", "mamba-130m --train",
    "llama-2-70b --train --tensor-parallel 4 --pipeline-parallel 4 --sequence-parallel yes --master fp32",
    "gemma-3-27b --infer --seq 32768 --new-tokens 10", "vit-base-patch16-224 --train --batch 8",
)


def refused(done, code, *words):
    """One line that says why (and for wrong usage the usage line behind it), nothing on stdout."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == (2 if code == 2 else 1), done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in lines[0], lines[0]
    return True


def compute(text):
    """What a reader with a calculator gets."""
    assert re.fullmatch(r"[\d.e+*/() ,-]*", re.sub(r"\b(min|max|ceil|floor)\(", "(", text)), text
    return eval(text, {"__builtins__": {}}, {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor})


@pytest.mark.parametrize("command", MODES)
def test_what_is_printed_is_what_was_computed(command):
    plan = estimate(*command.split())
    for term in plan["terms"]:
        assert compute(term["numbers"]) == pytest.approx(term["bytes"], abs=1), term["formula"]
        assert term["low_bytes"] <= term["bytes"] <= term["high_bytes"]
        assert term["why"] and term["stages"]
    for stage in plan["stages"]:
        rows = [t["bytes"] for t in plan["terms"] if stage["name"] in t["stages"]]
        assert stage["bytes"] == pytest.approx(sum(rows), abs=len(rows))
        assert stage["bytes"] == pytest.approx(sum(o["bytes"] for o in stage["owners"]), abs=len(rows))
    assert plan["peak"]["bytes"] == max(stage["bytes"] for stage in plan["stages"])


@pytest.mark.parametrize("command", MODES)
def test_the_text_has_the_peak_and_every_formula(command):
    done = vtrace("estimate", *command.split(), "--gpu", "h100-80g")
    plan = estimate(*command.split(), "--gpu", "h100-80g")
    assert done.returncode == 0, done.stderr
    assert f"PEAK  {plan['peak']['bytes'] / 2**30:.2f} GiB" in done.stdout
    for term in plan["terms"]:
        if plan["peak"]["stage"] in term["stages"]:
            assert f"{term['formula']} = {term['numbers']}" in done.stdout
    assert "h100-80g (80 GB)" in done.stdout


def peak(*arguments):
    return estimate(*arguments)["peak"]["bytes"]


@pytest.mark.parametrize("option", (
    "--checkpointing full", "--loss fused", "--loss checkpointed --loss-chunk 512", "--optimizer adamw8bit",
    "--optimizer sgd",
    "--offload optimizer", "--tensor-parallel 2", "--pipeline-parallel 2", "--data-parallel 8 --zero 3", "--lora 16",
    "--lora 16 --quantise nf4", "--context-parallel 2", "--optimizer adafactor", "--optimizer muon", "--seq 1024"))
def test_an_option_that_saves_saves(option):
    base = ("llama-3-8b", "--train", "--batch", "2", "--dtype", "bf16")
    # Communication is a cost that tensor, pipeline and data parallelism bring.
    assert peak(*base, *option.split()) < peak(*base)


@pytest.mark.parametrize("option", (
    "--attention eager", "--mask yes", "--repeat-kv yes", "--keep-logits yes", "--dtype fp32",
    "--master fp32", "--rope-cache 8192", "--data-parallel 2"))
def test_an_option_that_costs_costs(option):
    base = ("llama-3-8b", "--train", "--batch", "2")
    assert peak(*base, *option.split()) > peak(*base)


@pytest.mark.parametrize("option", (
    "--kv-dtype int8", "--kv-dtype int4", "--kv-dtype fp8", "--kv-cache none", "--quantise int8", "--quantise q4_k",
    "--offload weights", "--tensor-parallel 2", "--logits last"))
def test_inference_options_that_save(option):
    base = ("llama-3-8b", "--batch", "4", "--seq", "8192")
    assert peak(*base, *option.split()) < peak(*base)


def test_a_window_saves_where_the_cache_keeps_nothing_else():
    base = ("llama-3-8b", "--seq", "8192", "--window", "1024", "--new-tokens", "8")
    kv = [{o["owner"]: o["bytes"] for o in estimate(*base, "--kv-cache", cache)["stages"][2]["owners"]}["kv cache"]
          for cache in ("dynamic", "static")]
    assert kv[0] == 8 * kv[1]


def test_pages_are_whole():
    def kv(cache, seq):
        plan = estimate("llama-3-8b", "--seq", str(seq), "--kv-cache", cache)
        forward = next(s for s in plan["stages"] if s["name"] == "forward")
        return {o["owner"]: o["bytes"] for o in forward["owners"]}["kv cache"]

    assert kv("paged", 4096) == kv("static", 4096)
    assert kv("paged", 4097) == kv("static", 4112)


def test_fsdp_does_not_divide_activations():
    def activations(*more):
        plan = estimate("llama-3-8b", "--train", *more)
        owners = next(s["owners"] for s in plan["stages"] if s["name"] == "forward")
        return sum(o["bytes"] for o in owners if o["owner"].startswith("activations"))

    assert activations("--data-parallel", "8", "--zero", "3") == activations()


def test_sequence_parallelism_divides_what_tensor_parallelism_leaves():
    def norms(*more):
        plan = estimate("llama-3-8b", "--train", "--tensor-parallel", "4", *more)
        owners = next(s["owners"] for s in plan["stages"] if s["name"] == "forward")
        return next(o["bytes"] for o in owners if o["owner"] == "activations/norm")

    assert norms() == 4 * norms("--sequence-parallel", "yes")


def test_ranks_that_share_tokens_share_activations_and_cache():
    """Not weights; and the neighbours' keys and values come and go."""
    def owners(*more):
        plan = estimate("llama-3-8b", "--seq", "8192", "--dtype", "bf16", *more)
        stage = next(s for s in plan["stages"] if s["name"] == "forward")
        return {o["owner"]: o["bytes"] for o in stage["owners"]}

    for mode in (("--train",), ()):
        whole, shared = owners(*mode), owners(*mode, "--context-parallel", "4")
        for owner, size in whole.items():
            if owner.startswith("activations") or owner == "kv cache":
                assert shared[owner] == pytest.approx(size / 4), owner
        assert shared["weights"] == whole["weights"]
        nccl = 2 * 16 * 5 * 2**21
        assert shared["communication"] == nccl + 2 * 2048 * 8 * (128 + 128) * 2


def stage_owners(name, *arguments):
    stage = next(s for s in estimate(*arguments)["stages"] if s["name"] == name)
    return {o["owner"]: o["bytes"] for o in stage["owners"]}


def test_a_window_is_a_mask_in_every_layer():
    """Cast to the type of the queries; a single head of keys is repeated without a copy."""
    base = ("--train", "--batch", "2", "--seq", "1024", "--dtype", "bf16")
    windowed = stage_owners("forward", "gemma-3-1b", *base)["activations/attention"]
    whole = stage_owners("forward", "gemma-3-1b", *base, "--window", "1024")["activations/attention"]
    assert windowed - whole == 22 * 2 * 1024 * 1024 * 2


def test_what_has_no_cache_and_what_needs_no_mask():
    """SDPA cuts the empty end of a static cache off: no mask of it in the prefill."""
    assert "kv cache" not in stage_owners("forward", "bert-base", "--batch", "4", "--seq", "512")
    generation = ("llama-3.2-1b", "--seq", "4096", "--new-tokens", "8", "--kv-cache", "static")
    assert "activations/mask" not in stage_owners("forward", *generation)


def test_a_decoder_behind_an_encoder_begins_with_one_token():
    """T5 base: its own keys and values are those of 1 + 7 tokens, and of one layer once more; the encoder's stay."""
    kv = stage_owners("decode", "t5-base", "--batch", "4", "--seq", "512", "--new-tokens", "7")["kv cache"]
    token = 4 * 2 * 768 * 2
    assert kv == 12 * 512 * token + 12 * 8 * token + 8 * token / 2
    assert stage_owners("forward", "t5-base", "--batch", "4", "--seq", "512", "--new-tokens", "7")["kv cache"] == \
        12 * token


JAMBA = {"model_type": "jamba", "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100, "num_experts": 4,
         "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 4,
         "attn_layer_offset": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 4}


def test_a_mixture_caches_keys_where_it_has_attention(tmp_path):
    """Two of eight layers; the other six have a state of 128 x 16 in fp32, and four inputs of their convolution."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(JAMBA))
    kv = stage_owners("forward", config, "--batch", "3", "--seq", "512", "--dtype", "bf16")["kv cache"]
    assert kv == 2 * 3 * 512 * 2 * 2 * 16 * 2 + 3 * 6 * 4 * 128 * (16 + 4)
    experts = 4 * 4 * 3 * 64 * 128
    mixer = 64 * 256 + 128 * 4 + 128 + (4 + 32) * 128 + 4 * 128 + 128 + 128 * 16 + 128 + 64 * 128 + 4 + 32
    attention = 2 * (2 * 64 * 64 + 2 * 32 * 64)
    assert estimate(config)["model"]["parameters"] == \
        2 * 100 * 64 + experts + 4 * 4 * 64 + 4 * 3 * 64 * 128 + 6 * mixer + attention + 17 * 64


def test_what_an_encoder_of_sound_takes(tmp_path):
    """Its 1500 moments stay as keys and values of the attention to it, whatever the decoder's length."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(FAMILIES["whisper-base"]["config"]))
    rows = {seq: stage_owners("logits", config, "--batch", "2", "--seq", seq, "--dtype", "bf16")
            for seq in (100, 200)}
    token = 2 * 2 * 512 * 2  # of two sequences: k and v in bf16
    for seq, owners in rows.items():
        assert owners["kv cache"] == 6 * token * (1500 + seq)
        assert owners["inputs"] == 2 * 80 * 3000 * 2 + 2 * seq * 8
    assert rows[200]["activations/norm"] - rows[100]["activations/norm"] == 2 * 100 * 512 * 2


def test_the_class_says_what_stands_behind_the_last_layer(tmp_path):
    bert = {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 512}
    config = tmp_path / "config.json"

    def stages(*classes):
        config.write_text(json.dumps(bert | {"architectures": classes} if classes else bert))
        return [s["name"] for s in estimate(config, "--seq", "128")["stages"]]

    assert "logits" in stages("BertForMaskedLM")
    assert "logits" not in stages("BertModel") and "logits" not in stages()
    assert "logits" not in stages("BertForSequenceClassification")


def test_a_bias_is_summed_over_tokens_in_parts():
    """138,412,032 bytes on a card of 132 multiprocessors, as PyTorch asks for; less where there are fewer rows."""
    def sums(model, batch, card="h200-141g"):
        plan = estimate(model, "--train", "--dtype", "bf16", "--batch", batch, "--gpu", card)
        stage = next(s for s in plan["stages"] if s["name"] == "backward: last layer")
        return {o["owner"]: o["bytes"] for o in stage["owners"]}["workspace/other"]

    assert sums("vit-base-patch16-224", 32) == 2**20 * 132
    assert sums("vit-base-patch16-224", 32, "rtx2080ti-11g") == 512 * 768 * math.ceil(68 * 8 / 6)
    assert sums("vit-base-patch16-224", 8) == 512 * 3072 * math.ceil(8 * 197 / 64)


def test_the_range_has_what_a_script_may_hold():
    plan, held = (estimate("llama-3-8b", "--train", "--seq", "8192", "--keep-logits", x)["peak"] for x in ("no", "yes"))
    assert plan["stage"] == held["stage"] == "backward: loss"
    assert plan["bytes"] < plan["high_bytes"] == held["high_bytes"]
    assert held["bytes"] - plan["bytes"] == 2 * 8192 * 128256


def test_a_ladder_names_single_changes_and_what_they_give():
    plan = estimate("llama-3.2-3b", "--train", "--batch", "8", "--gpu", "h100-80g")
    assert plan["gpus"][0]["fit"] == "does not fit"
    for rung in plan["ladder"]:
        changed = estimate("llama-3.2-3b", "--train", "--batch", "8", "--gpu", "h100-80g", f"--{rung['option']}",
                           rung["value"])
        assert changed["peak"]["bytes"] == rung["peak_bytes"]
        assert changed["gpus"][0]["fit"] == rung["fit"]
    assert any(rung["fit"] == "fits" for rung in plan["ladder"])


def test_what_others_hold_on_a_card_is_not_there():
    whole, shared = (estimate("llama-3-8b", "--gpu", f"h100-80g{more}")["gpus"][0] for more in ("", ",other=70GiB"))
    assert whole["usable_bytes"] - shared["usable_bytes"] == 70 << 30
    assert (whole["fit"], shared["fit"]) == ("fits", "does not fit")


DECIDING = (("deepseek-v3", "--gpu", "rtx4090-24g"), ("llama-3-8b", "--train", "--gpu", "rtx4090-24g"),
            ("llama-2-70b", "--train", "--gpu", "h100-80g"), ("llama-2-70b", "--train", "--gpu", "rtx4090-24g"),
            ("qwen2.5-0.5b", "--train", "--batch", "4", "--seq", "1024", "--vram", "16GiB"))


@pytest.mark.parametrize("command", DECIDING, ids=" ".join)
def test_what_is_listed_would_do(command):
    """Single changes; where none is enough pairs; where no pair is, the heading says so."""
    plan = estimate(*command)
    before, usable = plan["gpus"][0]["fit"], plan["gpus"][0]["usable_bytes"]
    enough = [rung for rung in plan["ladder"] if rung["is_enough"]]
    shown = enough or plan["pairs"]
    assert not (enough and plan["pairs"])
    for rung in shown:
        changes = rung.get("changes", [rung])
        changed = estimate(*command, *(x for c in changes for x in (f"--{c['option']}", c["value"])))
        assert changed["peak"]["bytes"] == rung["peak_bytes"] <= usable
        assert changed["gpus"][0]["fit"] == rung["fit"] != before
        assert rung["fit"] != "does not fit"
    text = vtrace("estimate", *command).stdout
    heading = "NO TWO CHANGES TOGETHER WOULD FIT" if not shown else "NOT TIGHT WITH" if before == "tight" else \
        "IT WOULD FIT WITH"
    listed = text[text.index(heading):].splitlines()[1:]
    assert len(listed) == len(shown or plan["ladder"])
    assert any("does not fit" in line for line in listed) == (not shown)


def test_halves_go_on_until_it_fits():
    """A quarter of the batch is a single change, too, and no more is taken than it needs."""
    command = ("llama-3-8b", "--batch", "64", "--seq", "8192", "--gpu", "rtx4090-24g")
    rung = next(r for r in estimate(*command)["ladder"] if r["option"] == "batch")
    assert rung["is_enough"]
    twice = str(2 * int(rung["value"]))
    assert estimate(*command, "--batch", twice)["gpus"][0]["fit"] == "does not fit"


def test_reserved_bytes_are_those_of_a_replay():
    """Segments hold all blocks, blocks all tensors; what is not one device's list of tensors is not played."""
    for command in (("qwen2.5-0.5b", "--train", "--batch", "4", "--seq", "1024", "--dtype", "bf16"),
                    ("llama-3.2-1b", "--seq", "4096", "--new-tokens", "100"), ("t5-small", "--train")):
        plan = estimate(*command)
        replay, peak = plan["replay"], plan["peak"]["bytes"] - plan["symbols"]["context"]
        assert replay["reserved_bytes"] >= replay["allocated_bytes"] > 0.95 * peak
        assert replay["allocated_bytes"] < 1.05 * peak
        assert all(row["bytes"] >= 0 for row in replay["ends"])
        assert f"replay: {replay['reserved_bytes'] / 2**30:.2f} GiB reserved" in vtrace("estimate", *command).stdout
    for option in ("--tensor-parallel 2", "--quantise int8", "--data-parallel 2"):
        assert estimate("llama-3.2-1b", *option.split())["replay"] is None
    assert estimate("llama-3.2-1b", "--train", "--optimizer", "muon")["replay"] is None


def test_experts_are_loaded_into_the_layers_that_have_them(tmp_path):
    """The first of five has none."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIGS["small-deepseek"]))
    plan = estimate(config, "--dtype", "bf16")
    weights = next(t["bytes"] for t in plan["terms"] if t["formula"] == "P*w")
    assert weights <= plan["load"]["allocated_bytes"] < 1.02 * weights


def test_a_cache_that_grows_reserves_more_than_one_that_is_there():
    def reserved(cache):
        return estimate("llama-3.2-1b", "--seq", "128", "--new-tokens", "8000", "--kv-cache", cache)["replay"][
            "reserved_bytes"]

    assert reserved("dynamic") > reserved("static") + 2**20


def test_a_sweep_is_the_plans_one_by_one():
    swept = estimate("qwen3-0.6b", "--train", "--what-if", "seq=512,1024,4096")
    assert [p["peak_bytes"] for p in swept["points"]] == [peak("qwen3-0.6b", "--train", "--seq", str(s))
                                                          for s in (512, 1024, 4096)]
    assert not swept["changes_results"]
    assert estimate("gpt2", "--what-if", "quantise=none,int8")["changes_results"]


# --- options ----------------------------------------------------------------------------------------------------------

def test_sizes_that_no_device_holds():
    assert refused(vtrace("estimate", "llama-3-8b", "--batch", "1000000000", "--seq", "1000000000"), 3, "2^53")


@pytest.mark.parametrize("arguments, words", (
    ((), ("one MODEL",)),
    (("gpt2", "llama-3-8b"), ("one MODEL",)),
    (("gpt2", "--params", "7B"), ("--params takes no MODEL",)),
    (("--params", "0"), ("such as 7B",)),
    (("--params", "7Q"), ("such as 7B",)),
    (("gpt2", "--batch", "0"), ("--batch 0", "whole number from 1")),
    (("gpt2", "--batch", "-1"), ("--batch -1",)),
    (("gpt2", "--batch", "1000000000000000"), ("whole number",)),
    (("gpt2", "--dtype", "int3"), ("--dtype int3", "bf16")),
    (("gpt2", "--gpu", "nosuch"), ("unknown card",)),
    (("gpt2", "--vram", "80 apples"), ("--vram",)),
    (("gpt2", "--gpu", "h100-80g", "--vram", "8GiB"), ("--gpu and --vram",)),
    (("gpt2", "--seq", "1025"), ("--seq 1025", "positions for 1024 tokens")),
    (("gpt2", "--seq", "1020", "--new-tokens", "8"), ("--new-tokens 8", "positions for 1024 tokens")),
    (("gpt2", "--train", "--infer"), ("exclude each other",)),
    (("gpt2", "--infer", "--checkpointing", "full"), ("only applies with --train",)),
    (("gpt2", "--train", "--new-tokens", "4"), ("only applies with --infer",)),
    (("gpt2", "--train", "--quantise", "int8"), ("needs --lora",)),
    (("gpt2", "--train", "--zero", "2"), ("--data-parallel",)),
    (("gpt2", "--train", "--lora", "8", "--freeze", "vision"), ("--lora and --freeze",)),
    (("gpt2", "--sequence-parallel", "yes"), ("--tensor-parallel",)),
    (("gpt2", "--context-parallel", "3"), ("--context-parallel", "must divide")),
    (("gpt2", "--context-parallel", "2", "--attention", "eager"), ("--context-parallel", "eager")),
    (("gpt2", "--context-parallel", "2", "--chunk", "64"), ("--context-parallel and --chunk",)),
    (("gpt2", "--cublas", "lots"), ("--cublas lots",)),
    (("--from", "run.db", "--overhead", "run.db"), ("no MODEL",)),
    (("llama-3-8b", "--tensor-parallel", "5"), ("--tensor-parallel 5", "32 attention heads")),
    (("llama-3-8b", "--pipeline-parallel", "33"), ("--pipeline-parallel 33", "32 layers")),
    (("gpt2", "--what-if", "batch"), ("NAME=VALUE",)),
    (("gpt2", "--what-if", "nosuch=1"), ("NAME=VALUE",)),
    (("gpt2", "--what-if", "batch=1,x"), ("--batch x",)),
    (("gpt2", "--what-if", "batch=1,2", "--what-if", "seq=64,128"), ("--what-if seq=64,128", "one option")),
    (("gpt2", "--nosuch"), ("unknown option",)),
))
def test_wrong_usage(arguments, words):
    assert refused(vtrace("estimate", *arguments), 2, *words)


def test_a_sheet_that_is_none(tmp_path):
    sheet = tmp_path / "sheet.ini"
    for text, word in (("", "no [rows]"), ("[rows]\nweights = P*2\n", ":2: unknown name"),
                       ("[symbols]\nP = 1/0\n", ":2: a division by zero"), ("[other]\nx = 1\n", "sections are"),
                       ("[rows]\nnonsense\n", ":2: no \"name = formula\""),
                       ("[rows]\nweights = " + "(" * 5000 + "1\n", "nested too deeply")):
        sheet.write_text(text)
        assert refused(vtrace("estimate", sheet), 3, str(sheet), word)
    sheet.write_text("[rows]\nweights = 1\n")
    assert refused(vtrace("estimate", sheet, "--what-if", "x=1"), 2, "no symbol x")


def test_the_usual_length_is_not_more_than_the_model_has_positions_for():
    assert [estimate(model, *more)["settings"]["seq"] for model, more in
            (("gpt2", ()), ("gpt2", ("--new-tokens", "24")), ("bert-base", ()), ("llama-3-8b", ()))] == \
        ["1024", "1000", "512", "2048"]


def test_shapes_are_within_one_percent_the_rest_within_five_and_an_unknown_card_has_any_workspace():
    plan = estimate("llama-3-8b", "--vram", "80GiB")
    exact = {"weights", "kv cache", "inputs"}
    assert exact <= {term["owner"] for term in plan["terms"]}
    for term in plan["terms"]:
        if term["owner"] == "workspace/cublas":
            assert term["low_bytes"] == 0 and term["high_bytes"] > 2**25
        elif term["owner"] != "context":
            factor = 1.01 if term["owner"] in exact else 1.05
            ends = plan["symbols"]["spread"] if term["owner"] in exact - {"weights"} else 0
            assert term["low_bytes"] == pytest.approx(term["bytes"] / factor, abs=1)
            assert term["high_bytes"] == pytest.approx(term["bytes"] * (factor + ends), abs=1)
    assert 0 < plan["symbols"]["spread"] < 0.01


def test_every_card_has_sizes_and_a_capability():
    cards = estimate("gpt2")["gpus"]
    assert len(cards) >= 20
    assert [c["usable_bytes"] for c in cards] == sorted(c["usable_bytes"] for c in cards)
    for card in cards:
        # Vendors round up or down, but not by a tenth and more.
        assert 0.85 < card["usable_bytes"] / card["vendor_bytes"] < 1.08, card
        assert card["headroom_bytes"] < card["usable_bytes"]
    plain = estimate("gpt2", "--vram", "24GB")["gpus"]
    assert [c["usable_bytes"] for c in plain] == [24 * 10**9]


def test_the_help_has_every_option_and_its_words():
    done = vtrace("estimate", "--help")
    settings = estimate("gpt2")["settings"]
    assert done.returncode == 0
    for name, value in settings.items():
        line = next(line for line in done.stdout.splitlines() if f"--{name} " in line)
        assert value.isdigit() or value in line
    assert "dynamic static paged latent none" in done.stdout


def test_the_list_names_presets_and_cards():
    done = vtrace("estimate", "--list")
    assert done.returncode == 0
    assert "  qwen2.5-1.5b\n" in done.stdout
    assert "h100-80g" in done.stdout


def test_a_replay_of_more_than_any_device_has_is_within_its_segments(tmp_path):
    """Blocks of more than 2^48 bytes were put into smaller pieces (found by unit/planner_fuzz, 10^6 configurations)."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12,
                                "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 4096,
                                "patch_size": 2}))
    replay = estimate(path, "--infer", "--attention", "eager", "--batch", 1)["replay"]
    assert 2 ** 50 < replay["allocated_bytes"] <= replay["reserved_bytes"]
