# SPDX-License-Identifier: MIT
"""Every option of `vtrace estimate`: its effect on each owner, against arithmetic from the model's sizes.

The model: width 512, 4 layers, 8 heads of 64, 2 of keys and values, mlp 1536, vocabulary 10000, head untied, bf16.
"""
import ast
import json
import re

import pytest

from combinations import estimate
from recording import vtrace
from test_estimate import refused

H, L, A, K, D, I, V = 512, 4, 8, 2, 64, 1536, 10000
CONFIG = {"model_type": "llama", "hidden_size": H, "num_hidden_layers": L, "num_attention_heads": A,
          "num_key_value_heads": K, "intermediate_size": I, "vocab_size": V}
MLA = {"model_type": "deepseek_v3", "hidden_size": H, "num_hidden_layers": L, "num_attention_heads": A,
       "num_key_value_heads": A, "intermediate_size": I, "vocab_size": V, "kv_lora_rank": 96, "qk_rope_head_dim": 32,
       "qk_nope_head_dim": 64, "v_head_dim": 48, "first_k_dense_replace": 0}
LINEAR = L * (2 * H * A * D + 2 * H * K * D + 3 * H * I)  # elements of the layers' matrices
P = LINEAR + 2 * V * H + L * 2 * H + H
SMALL = (2 * L + 1) * H  # norms: below 4096 elements
B, S = 2, 1024
T = B * S
LOGITS = T * V
IN_OUT = L * ((H + A * D) * 2 + (H + K * D) * 2 + (H + I) * 3)  # inputs and outputs of the layers' matrices


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, config in (("llama", CONFIG), ("mla", MLA)):
        (folder / name).write_text(json.dumps(config))
    return folder


def owners(path, stage, *options):
    plan = estimate(path, "--batch", B, "--seq", S, "--dtype", "bf16", *options)
    rows = next(s for s in plan["stages"] if s["name"] == stage)["owners"]
    return {row["owner"]: row["bytes"] for row in rows}


def whole(path, owner, stage, options):
    """Rounded blocks aside, which have rows of their own."""
    plan = estimate(path, "--batch", B, "--seq", S, "--dtype", "bf16", *options)
    return sum(t["bytes"] for t in plan["terms"] if t["owner"] == owner and stage in t["stages"]
               and "tails of blocks" not in t["why"])


TRAINING = (
    # option, owner, stage, bytes by hand
    ("", "weights", "load", 2 * P), ("", "gradients", "step", 2 * P), ("", "optimizer", "step", 2 * 2 * P),
    ("", "workspace/optimizer", "step", 2 * P),
    ("--dtype fp32", "weights", "load", 4 * P), ("--dtype fp32", "optimizer", "step", 8 * P),
    ("--master fp32", "optimizer", "step", (4 + 8) * P), ("--grad-dtype fp32", "gradients", "step", 4 * P),
    ("--state-dtype fp32", "optimizer", "step", 8 * P),
    ("--dtype fp32 --autocast bf16", "weights/cast", "loss", 2 * (LINEAR + V * H)),
    ("--optimizer-loop fused", "workspace/optimizer", "step", 0),
    ("--optimizer-loop single", "workspace/optimizer", "step", 2 * V * H),
    ("--optimizer adamw8bit", "optimizer", "step", 2 * (P - SMALL) * (1 + 4 / 256) + 8 * SMALL),
    ("--optimizer sgd", "optimizer", "step", 0), ("--optimizer momentum", "optimizer", "step", 2 * P),
    ("--optimizer adafactor", "optimizer", "step", 4 * (IN_OUT + 2 * (V + H) + SMALL)),
    ("--optimizer muon", "optimizer", "step", 2 * LINEAR + 4 * (P - LINEAR)),
    ("", "gradients", "forward", 0), ("--accumulate 4", "gradients", "forward", 2 * P),
    ("--checkpointing full", "activations/checkpoint", "loss", L * T * H * 2),
    ("--checkpointing full --checkpointed-layers 3", "activations/checkpoint", "loss", 3 * T * H * 2),
    # q and output of all heads, k and v of two, a logarithm in fp32 of each row
    ("", "activations/attention", "loss", L * T * (2 * (2 * A * D + 2 * K * D) + 4 * A)),
    ("--attention flash", "activations/attention", "loss", L * T * (2 * (2 * A * D + 2 * K * D) + 4 * A)),
    ("--repeat-kv yes", "activations/attention", "loss", L * T * (2 * 4 * A * D + 4 * A)),
    # a mask of bytes, cast to bf16 in every layer; no kernel with a mask takes groups of heads
    ("--mask yes", "activations/mask", "loss", B * S * S),
    ("--mask yes", "activations/attention", "loss", L * T * (2 * 4 * A * D + 4 * A + 2 * S)),
    # scores in fp32 and their cast
    ("--attention eager", "activations/attention", "loss", L * T * (2 * 4 * A * D + A * S * (4 + 2))),
    ("--attention eager --checkpointing selective", "activations/attention", "loss", L * T * 2 * 4 * A * D),
    ("", "activations/mlp", "loss", L * T * 8 * I),
    # two norms a layer: fp32 x, x normalised, 1/rms and the output; and the last one
    ("", "activations/norm", "loss", (2 * L + 1) * T * (4 * H + 2 * H + 4 + 2 * H)),
    ("", "logits", "loss", 10 * LOGITS), ("--loss plain", "logits", "loss", 4 * LOGITS),
    ("--loss copied", "logits", "loss", 12 * LOGITS), ("", "logits", "backward: loss", 12 * LOGITS),
    ("--keep-logits yes", "logits", "backward: loss", 14 * LOGITS),
    ("--loss chunked --loss-chunk 256", "logits", "loss", 4 * LOGITS + 10 * 256 * V),
    ("--loss checkpointed --loss-chunk 256", "logits", "loss", 10 * 256 * V),
    # Liger: the next power of two of T/ceil(V/h) tokens
    ("--loss fused", "logits", "loss", 2 * 128 * V),
    ("--loss fused", "gradients", "loss", 2 * V * H + 2 * T * H),
    ("--lora 8", "weights", "load", 2 * P + 4 * 8 * IN_OUT), ("--lora 8", "gradients", "step", 4 * 8 * IN_OUT),
    ("--lora 8", "optimizer", "step", 8 * 8 * IN_OUT),
    ("--lora 8 --lora-targets attention", "gradients", "step", 4 * 8 * L * ((H + A * D) * 2 + (H + K * D) * 2)),
    # each adapter's input in fp32 and what its first half gives; a mask and the scaled copy of each input
    ("--lora 8 --lora-dropout yes", "activations/mlp", "loss",
     L * T * (6 * I + 4 * (2 * H + I) + 4 * 8 * 3 + (1 + 4) * (2 * H + I))),
    ("--lora 8 --optimizer sgd", "optimizer", "step", 0),
    ("--lora 8 --optimizer momentum", "optimizer", "step", 4 * 8 * IN_OUT),
    ("--lora 8 --optimizer adamw8bit", "optimizer", "step", 2 * 8 * IN_OUT * (1 + 4 / 256)),
    ("--lora 8 --optimizer adafactor", "optimizer", "step", 4 * (IN_OUT + 7 * L * 2 * 8)),
    ("--lora 8 --offload optimizer", "optimizer", "step", 0),
    ("--lora 8 --accumulate 2", "gradients", "forward", 4 * 8 * IN_OUT),
    ("--lora 8 --data-parallel 4", "gradients", "step", 2 * 4 * 8 * IN_OUT),
    ("--lora 8 --data-parallel 4 --zero 2", "gradients", "step", 4 * 8 * IN_OUT / 4),
    ("--lora 8 --data-parallel 4 --zero 1", "optimizer", "step", 8 * 8 * IN_OUT / 4),
    ("--lora 8 --quantise nf4", "weights", "load", LINEAR * 4.5 / 8 + 2 * (P - LINEAR) + 4 * 8 * IN_OUT),
    ("--lora 8 --quantise nf4 --data-parallel 4 --zero 3", "weights", "load",
     (LINEAR * 4.5 / 8 + 2 * (P - LINEAR) + 4 * 8 * IN_OUT) / 4),
    ("--data-parallel 4", "gradients", "step", 2 * 2 * P),
    ("--data-parallel 4 --bucket-view yes", "gradients", "step", 2 * P),
    ("--data-parallel 4 --zero 1", "optimizer", "step", 4 * P / 4),
    ("--data-parallel 4 --zero 1", "gradients", "step", 2 * P),
    ("--data-parallel 4 --zero 2", "gradients", "step", 2 * P / 4),
    ("--data-parallel 4 --zero 3", "weights", "load", 2 * P / 4),
    ("--data-parallel 4 --zero 3", "weights", "loss", 2 * P / 4 + 2 * 2 * (LINEAR / L + 2 * H)),
    ("--tensor-parallel 2", "weights", "load", 2 * ((LINEAR + 2 * V * H) / 2 + SMALL)),
    ("--tensor-parallel 2", "activations/mlp", "loss", L * T * 8 * I / 2),
    ("--tensor-parallel 2 --sequence-parallel yes", "activations/norm", "loss",
     (2 * L + 1) * T * (4 * H + 2 * H + 4 + 2 * H) / 2),
    ("--tensor-parallel 2", "logits", "loss", 10 * LOGITS / 2),
    # the first rank has the embedding and half of the layers, the last one the head and a norm
    ("--pipeline-parallel 2", "weights", "load", 2 * (LINEAR / 2 + L / 2 * 2 * H + V * H + H)),
    ("--pipeline-parallel 2", "activations/mlp", "loss", L / 2 * T * 8 * I),
    ("--context-parallel 2", "activations/mlp", "loss", L * T * 8 * I / 2),
    ("--context-parallel 2", "weights", "load", 2 * P),
    ("--offload optimizer", "optimizer", "step", 0),
    ("--offload weights", "weights", "load", 2 * (2 * V * H + H + 2 * (LINEAR / L + 2 * H))),
    ("--rope-cache 4096", "buffers", "load", L * 2 * 4096 * D * 2),
    ("--context 300MiB", "context", "load", 300 * 2**20), ("--cublas 40MiB", "workspace/cublas", "step", 40 * 2**20),
    ("--data-parallel 2 --communication 1GiB", "communication", "step", 2**30),
)

TOKEN = 2 * K * D * 2  # keys and values of one token and layer
INFERENCE = (
    ("", "kv cache", "forward", L * T * TOKEN),
    ("--new-tokens 16 --kv-cache static", "kv cache", "forward", L * B * (S + 16) * TOKEN),
    # and one layer's keys or values twice
    ("--new-tokens 16", "kv cache", "decode", L * B * (S + 16) * TOKEN + B * (S + 16) * TOKEN / 2),
    ("--new-tokens 9 --kv-cache paged", "kv cache", "decode", L * B * (S + 16) * TOKEN),
    ("--kv-cache none", "kv cache", "forward", 0), ("--kv-dtype fp32", "kv cache", "forward", L * T * TOKEN * 2),
    ("--kv-dtype fp8", "kv cache", "forward", L * T * TOKEN / 2),
    # a scale and a zero of two bytes each per group
    ("--kv-dtype int8", "kv cache", "forward", L * T * TOKEN / 2 * (1 + 4 / 64)),
    ("--kv-dtype int4 --kv-group 32", "kv cache", "forward", L * T * TOKEN / 2 * (0.5 + 4 / 32)),
    ("--window 256 --kv-cache static", "kv cache", "forward", L * B * 256 * TOKEN),
    ("--window 256", "kv cache", "forward", L * T * TOKEN),
    ("--tensor-parallel 2", "kv cache", "forward", L * T * TOKEN / 2),
    ("--tensor-parallel 8", "kv cache", "forward", L * T * TOKEN / 2),
    ("--context-parallel 2", "kv cache", "forward", L * T * TOKEN / 2),
    ("--logits all", "logits", "logits", 2 * LOGITS), ("--logits last", "logits", "logits", (2 + 4) * B * V),
    ("--quantise int8", "weights", "load",
     LINEAR + 4 * L * (2 * H + 2 * K * D + 2 * I + H) + 2 * (P - LINEAR)),
    ("--quantise int4", "weights", "load", LINEAR / 2 + 2 * (P - LINEAR)),
    ("--quantise nf4-double", "weights", "load", LINEAR * (4 + 8 / 64 + 32 / 64 / 256) / 8 + 2 * (P - LINEAR)),
    ("--quantise gptq", "weights", "load", LINEAR * (4 + 20 / 128) / 8 + 2 * (P - LINEAR)),
    ("--quantise awq", "weights", "load", LINEAR * (4 + 20 / 128) / 8 + 2 * (P - LINEAR)),
    # blocks of GGML: 34 bytes of 32; 210, 176, 144 of 256
    ("--quantise q8_0", "weights", "load", LINEAR * 34 / 32 + 2 * (P - LINEAR)),
    ("--quantise q6_k", "weights", "load", LINEAR * 210 / 256 + 2 * (P - LINEAR)),
    ("--quantise q5_k", "weights", "load", LINEAR * 176 / 256 + 2 * (P - LINEAR)),
    ("--quantise q4_k", "weights", "load", LINEAR * 144 / 256 + 2 * (P - LINEAR)),
    ("--quantise nf4", "workspace/other", "forward", 2 * V * H),
)


@pytest.mark.parametrize("options, owner, stage, expected", TRAINING)
def test_training(options, owner, stage, expected, models):
    assert whole(models / "llama", owner, stage, ("--train", *options.split())) == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("options, owner, stage, expected", INFERENCE)
def test_inference(options, owner, stage, expected, models):
    assert whole(models / "llama", owner, stage, options.split()) == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("cache, token", (("dynamic", 96 + 32), ("latent", 96 + 32),
                                          ("expanded", A * (64 + 32 + 48))))
def test_latents(cache, token, models):
    assert owners(models / "mla", "forward", "--kv-cache", cache)["kv cache"] == L * T * token * 2


HOOKS = 7 * H + 3 * A * D + 3 * K * D + 3 * I + 2  # of a token and layer, scores and patterns aside


@pytest.mark.parametrize("options, expected", (
    ("--keep residual", (L + 1) * T * H), ("--keep all", L * T * (HOOKS + 2 * A * S)),
    # chunk by chunk: what was kept has gone to the host, or stays; scores are of a chunk's tokens only
    ("--keep residual --chunk 256", (L + 1) * B * 256 * H),
    ("--keep residual --chunk 256 --keep-on device", (L + 1) * T * H),
    ("--keep all --chunk 256 --keep-on device", L * T * (HOOKS + 2 * A * 256)),
    ("--keep residual --keep-on host", T * H), ("--keep all --keep-on host", T * A * S)))
def test_what_interpretability_keeps(options, expected, models):
    plan = estimate(models / "llama", "--batch", B, "--seq", S, "--dtype", "bf16", *options.split())
    kept = [t["bytes"] for t in plan["terms"] if t["why"].startswith("kept") and "forward" in t["stages"]]
    assert kept == [2 * expected]


@pytest.mark.parametrize("options, words", (
    ("--optimizer-loop fused", "with --train"), ("--lora-dropout yes", "with --train"),
    ("--bucket-view yes", "with --train"), ("--loss-chunk 64", "with --train"),
    ("--train --kv-group 32", "with --infer"), ("--train --keep-on host", "with --infer"),
    ("--train --loss-chunk 64", "--loss-chunk"), ("--train --lora-targets attention", "with --lora"),
    ("--train --optimizer sgd --optimizer-loop fused", "--optimizer-loop"),
    ("--train --bucket-view yes", "--data-parallel"),
    ("--train --data-parallel 2 --zero 1 --bucket-view yes", "--bucket-view"), ("--kv-group 32", "--kv-dtype int8"),
    ("--keep-on host", "with --keep"), ("--attention flash --dtype fp32", "--attention flash"),
    ("--quantise nf4 --offload weights", "--quantise and --offload"), ("--offload optimizer", "with --train"),
    ("--data-parallel 2 --zero 1", "with --train"), ("--factor 2", "vision and text parts"),
    ("--tiles 4", "vision and text parts"), ("--images 2", "vision and text parts"),
    ("--train --freeze vision", "vision and text parts"),
    ("--kv-cache latent", "with latent attention"), ("--scan sequential", "with state-space layers")))
def test_options_that_contradict_each_other_or_the_model(options, words, models):
    assert refused(vtrace("estimate", models / "llama", *options.split()), 2, words)


def test_a_factor_divides_the_patches():
    assert refused(vtrace("estimate", "siglip-qwen2.5-1.5b", "--factor", "3"), 2, "--factor", "must divide")
    model = ("siglip-qwen2.5-1.5b", "--seq", "100", "--dtype", "bf16")
    images = [estimate(*model, "--images", n, "--tiles", t, "--factor", f) for n, t, f in ((1, 1, 1), (2, 3, 4))]
    assert [plan["symbols"]["s"] for plan in images] == [100 + 1024, 100 + 2 * 3 * 64]


def test_what_is_frozen_has_no_gradients():
    model = ("siglip-qwen2.5-1.5b", "--train", "--dtype", "bf16", "--seq", "64")
    gradients = [next(row["bytes"] for row in estimate(*model, *options)["stages"][-1]["owners"]
                      if row["owner"] == "gradients") for options in ((), ("--freeze", "vision"))]
    layer = 4 * (1152 + 1) * 1152 + 2 * 1152 * 4304 + 4304 + 1152 + 4 * 1152
    pooling = layer - 2 * 1152 + 1152  # one norm less, and what asks
    patches = (16 * 16 * 3 + 1) * 1152 + 1024 * 1152 + 2 * 1152  # with positions and the last norm
    assert gradients[0] - gradients[1] == 2 * (27 * layer + pooling + patches)


def given_here():
    """Texts of this file's code: no comments, no documentation, nothing that is only refused."""
    tree = ast.parse(open(__file__, encoding="utf-8").read())
    refusals = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
                    and node.name == test_options_that_contradict_each_other_or_the_model.__name__)
    left_out = {id(node) for node in ast.walk(refusals)}
    left_out |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
            and isinstance(node.value, str) and id(node) not in left_out]


def test_every_option_has_a_place_in_the_manual_and_here():
    manual = vtrace("estimate", "--help").stdout
    given = given_here()
    for name in estimate("gpt2")["settings"].keys() - {"mode"}:
        option = re.compile(rf"--{name}(?![\w-])")
        assert option.search(manual), name
        # test_seeds has the first, test_own_ways the second.
        assert any(option.search(text) for text in given) or name in ("load", "scan"), name
