# SPDX-License-Identifier: MIT
"""What a kind of model does in its own way, as families.ini says it: bytes of an owner, by arithmetic from its sizes.

Every model: width 512, 4 layers, 8 heads of 64, mlp 2048, vocabulary 10000, bf16; two sequences of 1024.
"""
import json

import pytest

from combinations import estimate
from recording import vtrace
from test_estimate import refused

H, L, A, D, I, V = 512, 4, 8, 64, 2048, 10000
B, S, POSITIONS = 2, 1024, 2048
T = B * S
SCORES = T * A * S
SIZES = {"hidden_size": H, "num_hidden_layers": L, "num_attention_heads": A, "intermediate_size": I, "vocab_size": V,
         "max_position_embeddings": POSITIONS}
HEADS = {"num_key_value_heads": A, "head_dim": D}
MIXERS = {"attn_layer_period": 4, "attn_layer_offset": 2, "num_experts": 4, "num_experts_per_tok": 2,
          "expert_layer_period": 2, "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
          "mamba_expand": 2, "mamba_dt_rank": 32}
GPT = {"n_embd": H, "n_layer": L, "n_head": A, "n_positions": POSITIONS, "vocab_size": V}
CONFIGS = {
    "bloom": {"hidden_size": H, "n_layer": L, "n_head": A, "vocab_size": V},
    "mpt": {"d_model": H, "n_layers": L, "n_heads": A, "vocab_size": V},
    "gpt_neo": {"hidden_size": H, "num_layers": L, "num_heads": A, "vocab_size": V,
                "max_position_embeddings": POSITIONS},
    "gptj": GPT | {"rotary_dim": 32}, "codegen": GPT | {"rotary_dim": 32}, "gpt_bigcode": GPT | {"multi_query": True},
    "nemotron": SIZES | {"head_dim": D, "hidden_act": "relu2"},
    "persimmon": SIZES, "mixtral": SIZES | HEADS, "glm4": SIZES | HEADS, "phi3": SIZES, "llama": SIZES, "gpt2": GPT,
    "cohere": SIZES, "granite": SIZES, "gemma2": SIZES | HEADS,
    "distilbert": {"architectures": ["DistilBertForMaskedLM"], "dim": H, "n_layers": L, "n_heads": A, "hidden_dim": I,
                   "vocab_size": V, "max_position_embeddings": POSITIONS},
    "bert": SIZES | {"architectures": ["BertForMaskedLM"]},
    "qwen2_moe": SIZES | HEADS | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256,
                          "shared_expert_intermediate_size": 1024},
    "llava": {"text_config": SIZES | {"model_type": "llama"},
              "vision_config": {"model_type": "clip_vision_model", "hidden_size": 256, "num_hidden_layers": 2,
                                "num_attention_heads": 4, "intermediate_size": 512, "image_size": 32, "patch_size": 8}},
    "vit": SIZES | {"image_size": 256, "patch_size": 16},
    "electra": SIZES | {"architectures": ["ElectraForMaskedLM"], "embedding_size": 128},
}

# softmax in fp32 and its cast; q, k, v and the output in bf16 (2 bytes), or q and k in fp32
EAGER = L * (6 * SCORES + T * 2 * 4 * H)
FP32 = L * (6 * SCORES + T * (4 * 2 * H + 2 * 2 * H))
MASK = B * S * S * 2
KERNEL = L * T * (2 * 4 * H + 4 * A)
STREAM = T * H * 2
NORM = STREAM + 8 * T  # input, mean and deviation
TRAINING = (
    # of what attention kept, scores among it, the mask aside
    ("mpt", "activations/attention", "loss", EAGER),
    ("gptj", "activations/attention", "loss", FP32), ("codegen", "activations/attention", "loss", FP32),
    ("gpt_neo", "activations/attention", "loss", FP32),
    # and the sum behind it, which its module makes; the mlp keeps the input of GELU, its output and the next sum
    ("bloom", "activations/attention", "loss", EAGER + L * STREAM),
    ("bloom", "activations/mlp", "loss", L * (T * 2 * 2 * I + STREAM)),
    ("mpt", "activations/mlp", "loss", L * (T * 2 * 2 * I + STREAM)),
    # two outputs of norms in every layer, mean and deviation; the last norm, its output
    ("bloom", "activations/norm", "loss", L * (2 * STREAM + 16 * T) + NORM + STREAM),
    ("bloom", "activations/embedding", "loss", NORM), ("mpt", "activations/embedding", "loss", 0),
    ("mpt", "activations/norm", "loss", L * (STREAM + NORM + 8 * T + STREAM) + NORM + STREAM),
    ("nemotron", "activations/mlp", "loss", L * T * 2 * 2 * I),
    # joined rotation: the output once more
    ("nemotron", "activations/attention", "loss", KERNEL + L * STREAM),
    ("glm4", "activations/attention", "loss", KERNEL + L * STREAM), ("llama", "activations/attention", "loss", KERNEL),
    ("bert", "activations/attention", "loss", KERNEL + L * (STREAM + T * H)),  # the sum and a mask of dropout
    ("distilbert", "activations/attention", "loss", KERNEL),
    ("distilbert", "activations/norm", "loss", L * 2 * (NORM + STREAM) + NORM + STREAM),
    ("distilbert", "activations/mlp", "loss", L * T * (2 * 2 * I + H)),
    # two experts' and the shared one's mlp, copies of inputs and outputs, the router's logits in fp32; the shared one's
    # output and its gate
    ("qwen2_moe", "activations/mlp", "loss", L * T * (2 * 4 * (2 * 256 + 1024) + 2 * 2 * 2 * H + 4 * 4 + 2 * H + 2)),
    # of the embeddings' width 128: their sum, mean and deviation, dropout and its mask; of the layers' width: the rest
    ("electra", "activations/embedding", "loss", T * (2 * 128 + 8 + 128 + 2 * 128) + STREAM),
    ("electra", "logits", "loss", T * V * 4 + T * 2 * 128),
)


# What softmax makes of a layer's scores is in the model's variable while the next layer computes: 2 bytes of a score.
INFERENCE = (
    ("gpt_neo", 2 * SCORES + (4 + 4) * SCORES + T * H * (2 + 4 + 4)),  # q, and q and k in fp32
    ("gptj", 2 * SCORES + (4 + 4) * SCORES + T * H * (2 * 3 + 4 + 4)),  # and what rotated q and k are parts of
    ("bloom", 2 * SCORES + (2 + 2 + 4 + 4) * SCORES + T * H * 2 * 4),  # q, k and v as one, and a copy of q
    ("mpt", 2 * SCORES + (2 + 4 + 4) * SCORES + T * H * 2 * 3),
)


NOT_COMPARED = "not validated for this model type"


def plan(folder, kind, *options, more=None):
    path = folder / "config.json"
    path.write_text(json.dumps({"model_type": kind} | CONFIGS[kind] | (more or {})))
    made = estimate(path, "--batch", B, "--seq", S, "--dtype", "bf16", *options)
    assert made["model"]["note"] is None or made["model"]["note"].endswith(NOT_COMPARED)
    return made


def owned(made, owner, stage):
    return sum(t["bytes"] for t in made["terms"] if t["owner"] == owner and stage in t["stages"])


@pytest.mark.parametrize("kind, owner, stage, expected", TRAINING, ids=lambda x: str(x).replace("/", "-"))
def test_what_a_kind_keeps(tmp_path, kind, owner, stage, expected):
    assert owned(plan(tmp_path, kind, "--train"), owner, stage) == expected


@pytest.mark.parametrize("kind, expected", INFERENCE)
def test_attention_of_its_own_in_a_forward(tmp_path, kind, expected):
    assert owned(plan(tmp_path, kind, "--infer"), "activations/attention", "forward") == expected


@pytest.mark.parametrize("kind, copies, more", (("llama", 1, {}), ("cohere", 2, {}), ("granite", 2, {}),
                                                ("gemma2", 2, {}), ("gemma2", 1, {"final_logit_softcapping": None})))
def test_logits_that_are_scaled_or_capped_are_there_twice(tmp_path, kind, copies, more):
    assert owned(plan(tmp_path, kind, "--infer", more=more), "logits", "logits") == copies * T * V * 2


@pytest.mark.parametrize("kind, more, note", (
    ("nobody", {}, "unknown model_type nobody"),
    ("llama", {"hidden_size_per_layer_input": 256}, "not understood, and not planned: hidden_size_per_layer_input"),
    ("llama", {"audio_config": {"hidden_size": 64}}, "not understood, and not planned: audio_config"),
    ("llama", {"layer_types": ["full_attention", "other", "other", "other"]},
     "not understood, and not planned: layers of the kind other"),
    ("llama", {"layer_types": ["linear_attention"] * 4},
     "not understood, and not planned: layers of the kind linear_attention"),
    ("qwen3", HEADS | {"layer_types": ["chunked_attention"] * 4},
     "not understood, and not planned: layers of the kind chunked_attention"),
    ("opt", {"word_embed_proj_dim": 256, "ffn_dim": I}, "not understood, and not planned: word_embed_proj_dim")))
def test_what_is_not_understood_is_said_and_fits_no_card_for_sure(tmp_path, kind, more, note):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind} | SIZES | more))
    made = estimate(path, "--batch", B, "--seq", S)
    assert made["model"]["note"].startswith(note)
    assert {gpu["fit"] for gpu in made["gpus"]} == {"may fit"}
    weights = next(term for term in made["terms"] if term["owner"] == "weights")
    assert weights["low_bytes"] < weights["bytes"] / 1.7 and weights["high_bytes"] > 1.7 * weights["bytes"]


def test_parameters_of_a_kind_may_be_known_and_not_how_it_computes(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "xglm", "vocab_size": V, "d_model": H, "num_layers": L, "ffn_dim": I,
                                "attention_heads": A, "architectures": ["XGLMForCausalLM"]}))
    made = estimate(path, "--batch", B, "--seq", S)
    assert made["model"]["note"] == "this model type computes in a way that is not planned"
    assert made["model"]["is_guessed"] and not made["model"]["has_guessed_parameters"]
    assert {gpu["fit"] for gpu in made["gpus"]} == {"may fit"}


def test_keys_that_cost_nothing_are_not_named(tmp_path):
    more = {"num_beams": 4, "initializer_range": 0.02, "routed_scaling_factor": 2.5, "rope_scaling": {"factor": 8},
            "head_dim": None, "num_experts": 0}
    plan(tmp_path, "llama", "--infer", more=more)


@pytest.mark.parametrize("words, is_kept", (((), False), (("--attention", "eager"), True)))
def test_gradients_of_an_mlp_whose_attention_goes_backward_last(tmp_path, words, is_kept):
    made = plan(tmp_path, "llama", "--train", *words)
    mlp, rest = 3 * H * I, 4 * H * H + 2 * H
    parameters = 2 * V * H + L * (mlp + rest) + H
    term = next(t for t in made["terms"] if t["why"].startswith("of the head") and "layers" in t["why"])
    assert term["bytes"] == 2 * (parameters - V * H - rest - (0 if is_kept else mlp))


@pytest.mark.parametrize("kind, products", (("persimmon", 1), ("nemotron", 3)))
def test_one_product_for_queries_keys_and_values_has_one_adapter(tmp_path, kind, products):
    """... and one copy of its input, which autocast makes for each product."""
    made = plan(tmp_path, kind, "--train", "--lora", "8")
    kept = [t["bytes"] for t in made["terms"] if t["why"].startswith("each adapter keeps") and "loss" in t["stages"] and
            t["owner"] == "activations/attention"]
    assert kept == [L * T * 4 * ((products + 1) * H + (products + 1) * 8)]
    adapted = {t["formula"]: t["bytes"] for t in made["terms"]}["Padapters*4"]
    assert adapted == 4 * 8 * L * ((products + 3) * H + 2 * H + 2 * (H + I))
    made = plan(tmp_path, kind, "--train", "--autocast", "bf16", "--dtype", "fp32")
    casts = [t["bytes"] for t in made["terms"] if t["owner"] == "activations/attention" and "loss" in t["stages"] and
             t["why"].startswith("autocast's cop")]
    assert casts == [L * T * 2 * products * H]


def test_autocast_computes_experts_in_the_type_of_their_weights(tmp_path):
    """Gate and up, what is made of them and what down gives, in fp32; the shared expert in bf16, of cast weights."""
    made = plan(tmp_path, "qwen2_moe", "--train", "--dtype", "fp32", "--autocast", "bf16")
    kept = next(t["bytes"] for t in made["terms"] if t["why"].startswith("every chosen expert") and "loss" in
                t["stages"])
    assert kept == L * T * (4 * 256 * 2 * 4 + 4 * 1024 * 2 + 2 * 2 * H * 4 + 4 * 4)
    copied = L * (4 * H * H + 3 * 1024 * H + H) + V * H  # the gate of shared experts is linear, too
    assert owned(made, "weights/cast", "loss") == 2 * copied


def test_experts_are_one_parameter(tmp_path):
    """A segment of 20 MiB would hold 17 experts' matrices of 1.16 MiB: an end of a third of a MiB in each of 90."""
    made = plan(tmp_path, "mixtral", "--infer", more={"intermediate_size": 1184, "num_local_experts": 128})
    assert next(t["bytes"] for t in made["terms"] if t["formula"] == "tails") < L * 2 * 2**20


@pytest.mark.parametrize("words, copies", ((("--dtype", "fp32"), 1), (("--dtype", "fp32", "--autocast", "bf16"), 0)))
def test_the_second_gradient_of_a_tied_embedding_is_added_in_place_behind_a_cast(tmp_path, words, copies):
    made = plan(tmp_path, "llama", "--train", *words, more={"tie_word_embeddings": True})
    assert owned(made, "workspace/other", "backward: embedding") == copies * V * H * 4


@pytest.mark.parametrize("words, element", (((), 4), (("--autocast", "bf16", "--dtype", "fp32"), 2)))
def test_what_an_adapter_keeps_is_cast_once_more(tmp_path, words, element):
    made = plan(tmp_path, "llama", "--train", "--lora", "8", *words)
    kept = [t["bytes"] for t in made["terms"] if t["why"].startswith("each adapter keeps") and "loss" in t["stages"] and
            t["owner"] == "activations/attention"]
    assert kept == [L * T * element * (4 * H + 4 * 8)]


def test_an_encoder_with_adapters_keeps_what_its_norms_need(tmp_path):
    made = plan(tmp_path, "bert", "--train", "--lora", "8")
    assert owned(made, "activations/embedding", "loss") == 0
    behind = sum(t["bytes"] for t in made["terms"] if "LayerNorm after" in t["why"] and "loss" in t["stages"])
    assert behind == L * T * (8 + 2 * H + 8)


def test_a_relu_is_squared_in_fp32_under_autocast(tmp_path):
    for words, element in ((("--dtype", "bf16"), 2 + 2), (("--dtype", "fp32", "--autocast", "bf16"), 2 + 4 + 2)):
        made = plan(tmp_path, "nemotron", "--train", *words)
        why = "the input and the output of the activation"
        kept = [t["bytes"] for t in made["terms"] if t["why"] == why and "loss" in t["stages"]]
        assert kept == [L * T * I * element]


def test_casts_have_gone_when_the_embedding_goes_backward(tmp_path):
    made = plan(tmp_path, "llama", "--train", "--dtype", "fp32", "--autocast", "bf16")
    assert owned(made, "weights/cast", "loss") > 0 == owned(made, "weights/cast", "backward: embedding")


@pytest.mark.parametrize("batch", (B, 1))
def test_the_bias_of_a_head_is_summed_over_tokens(tmp_path, batch):
    """2112 blocks run at once on an H100; each has 128 columns, and of 64 rows or more a partial sum."""
    made = plan(tmp_path, "bert", "--train", "--batch", batch, "--gpu", "h100-80g")
    terms = {t["why"]: t["bytes"] for t in made["terms"] if "backward: last norm" in t["stages"]}
    blocks = min(-(-2112 // -(-V // 128)), batch * S // 64)
    assert terms["partial sums of the gradient of the head's bias"] == 512 * V * blocks
    made = plan(tmp_path, "bert", "--train", "--batch", 1, "--seq", 512, "--gpu", "h100-80g")
    assert not [t for t in made["terms"] if t["why"] == "partial sums of the gradient of the head's bias"]


@pytest.mark.parametrize("words, kept", (((), 0), (("--new-tokens", 4), L * 2 * T * H * 2)))
def test_an_encoder_that_generates_keeps_keys_and_values(tmp_path, words, kept):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForCausalLM"]} | SIZES))
    made = estimate(path, "--infer", "--batch", B, "--seq", S, *words)
    assert owned(made, "kv cache", "logits") == kept


def test_adapters_of_experts_are_a_guess(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "qwen2_moe"} | CONFIGS["qwen2_moe"]))
    made = estimate(path, "--train", "--lora", 8)
    assert made["model"]["note"] == "adapters of a mixture's experts are not planned" and made["model"]["is_guessed"]
    assert {gpu["fit"] for gpu in made["gpus"]} == {"may fit"}
    assert "note: adapters of a mixture's experts" in vtrace("estimate", path, "--train", "--lora", 8).stdout
    made = estimate(path, "--train", "--lora", 8, "--lora-targets", "attention")
    assert made["model"]["note"] is None or made["model"]["note"].endswith(NOT_COMPARED)


def test_what_was_not_compared_with_a_run_is_a_guess(tmp_path):
    """What families.ini does not claim of a kind widens its range and takes "fits" away."""
    path = tmp_path / "config.json"
    t5 = {"d_model": H, "d_kv": D, "num_layers": L, "num_heads": A, "d_ff": I, "vocab_size": V}
    for kind, sizes, options, doubt in (
            ("gemma2", SIZES, ("--train", "--lora", 8), None), ("llama", SIZES, ("--infer", "--new-tokens", 8), None),
            ("gemma2", SIZES, ("--infer",), None),
            ("gpt_neo", CONFIGS["gpt_neo"], ("--infer", "--new-tokens", 8), "generation"),
            ("mt5", t5, ("--train",), None), ("mt5", t5, ("--train", "--autocast", "bf16"), "autocast"),
            ("codegen", GPT, ("--infer", "--new-tokens", 8), "a forward")):
        path.write_text(json.dumps({"model_type": kind} | sizes))
        made = estimate(path, *options, "--batch", B, "--seq", S, "--dtype", "fp32")
        note, kept = made["model"]["note"], next(t for t in made["terms"] if t["owner"].startswith("activations/") and
                                                 t["bytes"])
        assert made["model"]["is_guessed"] == bool(doubt)
        assert {gpu["fit"] for gpu in made["gpus"]} == {"may fit" if doubt else "fits"}
        assert kept["high_bytes"] == pytest.approx(kept["bytes"] * (2.5 if doubt else 1.05), abs=1)
        assert note == (f"{doubt} was {NOT_COMPARED}" if doubt else None)


@pytest.mark.parametrize("kind, words, doubt", (
    ("llama", ("--checkpointing", "selective", "--attention", "eager"), "checkpointing of attention alone"),
    ("jamba", ("--checkpointing", "full"), "training")))  # by kernels; what is claimed was run without
def test_no_option_is_compared_without_what_it_changes(tmp_path, kind, words, doubt):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind} | SIZES | HEADS | (MIXERS if kind == "jamba" else {})))
    note = estimate(path, "--train", "--batch", B, "--seq", S, *words)["model"]["note"]
    assert note.startswith(doubt) and note.endswith(NOT_COMPARED)


def test_what_a_step_takes_of_a_guess_is_a_guess(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "nobody"} | SIZES))
    term = next(t for t in estimate(path, "--train")["terms"] if t["owner"] == "workspace/optimizer")
    assert term["high_bytes"] > 2 * term["bytes"] > 4 * term["low_bytes"]


@pytest.mark.parametrize("name, has_head", (("NobodyDecoder", 1), ("NobodyModel", 0), ("NobodyForCausalLM", 1),
                                            ("NobodyForTokenClassification", 0)))
def test_the_head_of_a_class_that_is_not_known(tmp_path, name, has_head):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "nobody", "architectures": [name]} | SIZES))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    assert owned(made, "logits", "logits") == has_head * T * V * 2


@pytest.mark.parametrize("kind, forward, kept", (
    # scores, these with a column of sinks, what softmax makes of them; that, and its copy without the sinks
    ("gpt_oss", T * A * 2 * (S + 2 * (S + 1)), T * A * 2 * (2 * S + 1)),
    # scores, the softmax in fp32 and what it reads; scores, the softmax, its cast, the output before it is scaled
    ("granite_swa", T * A * S * (2 + 4 + 4), T * (A * S * (2 + 4 + 2) + 2 * H))))
def test_attention_with_sinks_computes_scores(tmp_path, kind, forward, kept):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind} | SIZES | HEADS))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    assert owned(made, "activations/attention", "forward") >= forward
    made = estimate(path, "--train", "--batch", B, "--seq", S)
    assert owned(made, "activations/attention", "loss") >= L * (kept + T * 2 * 4 * H)


def test_layers_that_are_all_dense_plan_no_experts(tmp_path):
    """... but the moment when latents have become queries, keys and values; a mixture alone has no dense mlp."""
    path = tmp_path / "config.json"
    latent = {"kv_lora_rank": 128, "q_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64}
    path.write_text(json.dumps({"model_type": "deepseek_v3", "n_routed_experts": 64, "num_experts_per_tok": 8,
                                "moe_intermediate_size": 1024, "first_k_dense_replace": L} | SIZES | latent |
                               {"intermediate_size": 512}))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    query, out = 64 + 32, 64
    assert owned(made, "activations/mlp", "forward") == 0
    assert owned(made, "activations/attention", "forward") == T * A * 2 * (3 * query + 32 + 64 + out + 2 * out)
    path.write_text(json.dumps(CONFIGS["qwen2_moe"] | {"model_type": "qwen2_moe", "intermediate_size": 1 << 20}))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    assert owned(made, "activations/mlp", "forward") == T * 2 * H * 4 * 2  # of the two experts of each token


def test_adafactor_steps_all_experts_of_a_layer_at_once(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS["qwen2_moe"] | {"model_type": "qwen2_moe", "num_experts": 32}))
    made = estimate(path, "--train", "--batch", B, "--seq", S, "--optimizer", "adafactor")
    assert owned(made, "workspace/optimizer", "step") >= (12 + 4) * 32 * 2 * 256 * H


@pytest.mark.parametrize("kind, keys, head", (("llama", A, D), ("qwen3", 32, 128), ("mistral", 8, D), ("glm", 2, 128),
                                              ("gemma2", 4, 256), ("starcoder2", 2, D)))
def test_heads_that_the_configuration_does_not_name(tmp_path, kind, keys, head):
    """What transformers takes then: as many as there are heads, or a number of the kind's class."""
    heads = {"num_attention_heads": 32, "hidden_size": 32 * D}
    cache = L * 2 * T * min(keys * 4 if kind == "llama" else keys, 32) * head * 2
    missing = {key: value for key, value in SIZES.items() if key not in heads} | heads | {"model_type": kind}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(missing))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    assert owned(made, "kv cache", "logits") == cache
    named = missing | {"num_key_value_heads": 16, "head_dim": 32}
    path.write_text(json.dumps(named))
    made = estimate(path, "--infer", "--batch", B, "--seq", S)
    assert owned(made, "kv cache", "logits") == L * 2 * T * 16 * 32 * 2


@pytest.mark.parametrize("kind, says, kept", (("mpt", None, 0), ("mpt", True, 1), ("llama", None, 1),
                                              ("llama", False, 0)))
def test_a_cache_that_the_configuration_turns_off(tmp_path, kind, says, kept):
    cache = L * 2 * T * H * 2
    more = {} if says is None else {"use_cache": says}
    assert owned(plan(tmp_path, kind, "--infer", more=more), "kv cache", "logits") == kept * cache
    asked_for = plan(tmp_path, kind, "--infer", "--kv-cache", "dynamic", more=more)
    assert owned(asked_for, "kv cache", "logits") == cache


def test_an_image_between_tower_and_text(tmp_path):
    """4 x 4 patches of 8 x 8 pixels in bf16; an mlp makes them as wide as the text, and what it gives is given back."""
    image = B * 16 * H * 2
    inputs = B * (32 * 32 * 3 * 2)
    made = plan(tmp_path, "llava", "--infer")
    assert owned(made, "activations/projector", "logits") == image
    assert owned(made, "inputs", "logits") == inputs + 8 * B * (S + 16)
    # the tower's patches, which its first layer takes, and the input and output of the activation
    assert owned(plan(tmp_path, "llava", "--train"), "activations/projector", "loss") == B * 16 * 256 * 2 + 2 * image


def test_gradients_while_that_of_a_bias_is_summed(tmp_path):
    """Of the mlp's first half: its input's, the stream's, and those of both halves' weights, there by then."""
    made = plan(tmp_path, "vit", "--train", "--batch", 8)
    tokens = 8 * (16 * 16 + 1)
    assert owned(made, "gradients", "backward: last layer") == tokens * 2 * (I + 2 * H) + 2 * I * H * 2


@pytest.mark.parametrize("kind, buffers", (("gpt_neo", L), ("gpt_bigcode", 1), ("gpt2", 0)))
def test_masks_of_all_positions(tmp_path, kind, buffers):
    """In each layer, or one of the model, whatever the sequence's length is."""
    assert owned(plan(tmp_path, kind, "--infer"), "buffers", "load") == buffers * POSITIONS**2


@pytest.mark.parametrize("kind, tensors", (("llama", 3), ("glm4", 4), ("phi3", 4), ("persimmon", 3), ("nemotron", 3),
                                           ("gpt2", 4), ("bert", 2)))
def test_what_an_mlp_has_at_once(tmp_path, kind, tensors):
    """Gate and up as halves of one product stay until both are used; a squared ReLU makes two of its input."""
    assert owned(plan(tmp_path, kind, "--infer"), "activations/mlp", "forward") == tensors * T * I * 2


def test_decoding_copies_the_weights_of_chosen_experts(tmp_path):
    """Gate, up and down of two experts for each of two sequences; nothing of other layers is there."""
    sizes = {"num_local_experts": 4, "num_experts_per_tok": 2}
    for more, copies in ((sizes, B * 2 * 3 * H * I * 2), ({}, 0)):
        made = plan(tmp_path, "mixtral" if more else "llama", "--new-tokens", "4", more=more)
        token = B * 2 * (3 * I * (2 if more else 1) + 2 * H)
        assert owned(made, "activations/mlp", "decode") == token + copies


@pytest.mark.parametrize("dtype, passing", (("bf16", 12), ("fp32", 4)))
def test_adafactor_steps_the_largest_parameter_in_fp32(tmp_path, dtype, passing):
    """The embedding: its partial sums of a mean are those of 157 blocks of 64 rows, more than one update more."""
    made = plan(tmp_path, "llama", "--train", "--optimizer", "adafactor", "--dtype", dtype, "--gpu", "h100-80g")
    step = owned(made, "workspace/optimizer", "step")
    assert step == passing * H * V + 512 * H * 157
    assert 512 * 157 > 4 * V


def test_a_kernel_that_a_kind_does_not_have(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gptj"} | CONFIGS["gptj"]))
    assert refused(vtrace("estimate", path, "--attention", "sdpa"), 2, "only eager attention for gptj")
    estimate(path, "--attention", "eager")


def test_a_mixture_that_is_switched_off(tmp_path):
    """Its number of experts is then that of another configuration."""
    path = tmp_path / "config.json"
    counts = []
    for more in ({}, {"is_moe": False, "num_experts": 16384}):
        path.write_text(json.dumps({"model_type": "llama"} | SIZES | more))
        counts.append(estimate(path)["model"]["parameters"])
    assert counts[0] == counts[1]


def test_sizes_that_are_not_understood_may_be_a_matrix_in_every_layer(tmp_path):
    path = tmp_path / "config.json"
    more = {"vocab_size_per_layer_input": 3000, "hidden_size_per_layer_input": 64}
    path.write_text(json.dumps({"model_type": "llama"} | SIZES | more))
    for mode, each in (("--infer", 2), ("--train", 2 + 2 + 2 * 2)):
        term = next(t for t in estimate(path, mode, "--dtype", "bf16")["terms"] if t["why"].startswith("keys that are"))
        assert (term["low_bytes"], term["bytes"]) == (0, 0)
        assert term["high_bytes"] == pytest.approx(2.5 * L * 3000 * 64 * each, abs=1)


def test_a_class_without_the_encoder_of_its_kind_is_a_guess(tmp_path):
    path = tmp_path / "config.json"
    bart = {"model_type": "bart", "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100,
            "max_position_embeddings": 64}
    for name, is_guessed in (("BartForConditionalGeneration", False), ("BartForCausalLM", True)):
        path.write_text(json.dumps(bart | {"architectures": [name]}))
        made = estimate(path, "--new-tokens", 4)
        assert made["model"]["is_guessed"] == is_guessed
        assert {gpu["fit"] for gpu in made["gpus"]} == {"may fit" if is_guessed else "fits"}


def test_other_names_of_experts(tmp_path):
    path = tmp_path / "config.json"
    counts = []
    for names in (("num_experts", "num_experts_per_tok", "n_shared_experts", "first_k_dense_replace"),
                  ("moe_num_experts", "moe_k", "moe_num_shared_experts", "moe_layer_start_index")):
        sizes = dict(zip(names, (8, 2, 1, 1)), moe_intermediate_size=64)
        path.write_text(json.dumps({"model_type": "nobody"} | SIZES | sizes))
        counts.append(estimate(path)["model"]["parameters"])
    assert counts[0] == counts[1] > 3 * 9 * 3 * 64 * H


def test_kernels_of_state_space_layers_may_be_missing(tmp_path):
    """The upper end has what operators take in their place, unless somebody says which it is."""
    for model in ("mamba-130m --train --seq 256", "mamba-130m --infer --seq 512"):
        usual, fused, sequential = (estimate(*model.split(), *more) for more in
                                    ((), ("--scan", "fused"), ("--scan", "sequential")))
        ends = [max(stage["high_bytes"] for stage in plan["stages"]) for plan in (usual, fused, sequential)]
        assert usual["peak"]["bytes"] == fused["peak"]["bytes"] and ends[0] >= max(ends[1:])
        # No kernels were there to compare with.
        assert fused["model"]["is_guessed"] and ("--train" in model or not sequential["model"]["is_guessed"])


def test_an_encoders_loss_of_the_next_token_is_in_fp32(tmp_path):
    for name, each in (("BertForMaskedLM", 3 * 2), ("BertLMHeadModel", 3 * 4)):
        made = plan(tmp_path, "bert", "--train", more={"architectures": [name]})
        assert owned(made, "logits", "backward: loss") == T * V * each + T * H * 2


def test_a_scan_beside_attention_with_scores(tmp_path):
    """Of layers of both kinds the one that takes more: here the scan, by decay, input and product of every state."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "jamba"} | SIZES | {"attn_layer_period": 2, "attn_layer_offset": 1,
                                                                  "mamba_d_state": 16, "mamba_expand": 2}))
    made = estimate(path, "--batch", B, "--seq", 512, "--dtype", "bf16", "--attention", "eager", "--scan", "sequential")
    inner = 2 * H
    assert owned(made, "activations/mixer", "forward") == B * 512 * (3 * 4 * inner * 16 + 4 * 2 * inner + 4 * 4 * inner)


def test_the_text_of_a_kind_that_is_not_known_is_planned_alone(tmp_path):
    """... where its tower of images has sizes in other words than the usual ones."""
    path, text = tmp_path / "config.json", SIZES | HEADS | {"model_type": "qwen2"}
    path.write_text(json.dumps({"model_type": "nobody", "text_config": text, "vision_config": {"depth": 4}}))
    made = estimate(path, "--infer")
    assert made["model"]["is_guessed"] and "of nobody only text_config is planned" in made["model"]["note"]
    path.write_text(json.dumps(text))
    assert estimate(path, "--infer")["model"]["parameters"] == made["model"]["parameters"]


def test_what_is_expected_lies_between_its_bounds(tmp_path):
    """Partial sums of a mean are larger than all that they are of where a matrix has few rows."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SIZES | {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
                                        "intermediate_size": 65, "vocab_size": 10}))
    terms = estimate(path, "--train", "--seq", 8, "--optimizer", "adafactor")["terms"]
    assert any("Adafactor" in term["why"] for term in terms)
    assert all(term["low_bytes"] <= term["bytes"] <= term["high_bytes"] for term in terms)


@pytest.mark.parametrize("config, library", (({"_class_name": "UNet2DConditionModel"}, "diffusers"),
                                             ({"architecture": "resnet50"}, "timm")))
def test_another_librarys_model_is_said_to_have_no_formulas(tmp_path, config, library):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert refused(vtrace("estimate", path), 3, f"a configuration of {library}, which has no formulas here; --run")
