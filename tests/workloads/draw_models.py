# SPDX-License-Identifier: MIT
"""Draw models of kinds that transformers builds, and shrink them to sizes that a small batch runs with.

    draw_models.py SEED NUMBER HEADS [KIND...]

HEADS: "text" (kinds that have a head for masked or next tokens), or "all" (also encoder-decoders, of text and of sound,
classes of images, and towers of images without a head). The last line of the output is a list of configurations with
all that the library writes into a file; each has run once.
"""
import json
import random
import sys

import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto as auto

import planned_run

TEXT = ("MASKED_LM", "CAUSAL_LM")
ALL = ("IMAGE_CLASSIFICATION", *TEXT, "SPEECH_SEQ_2_SEQ", "SEQ_TO_SEQ_CAUSAL_LM")  # the last that has a kind counts
NAMES = {"layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"),
         "width": ("hidden_size", "d_model", "n_embd", "dim"), "ffn": ("intermediate_size", "ffn_dim", "d_ff"),
         "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
                   "decoder_attention_heads"),
         "keys": ("num_key_value_heads", "num_kv_heads"), "head": ("head_dim",),
         "experts_ffn": ("moe_intermediate_size",)}
MORE_NAMES = {"ffn": ("encoder_ffn_dim", "decoder_ffn_dim"), "head": ("d_kv",), "heads": ("attention_heads",),
              "layers": ("num_decoder_layers",), "width": ("word_embed_proj_dim",)}


def kinds_of(heads):
    found = {}
    for name in TEXT if heads == "text" else ALL:
        found |= getattr(auto, f"MODEL_FOR_{name}_MAPPING_NAMES")
    if heads == "all":
        found |= {k: c for k, c in auto.MODEL_MAPPING_NAMES.items() if k.endswith("_vision_model")}
    return {kind: name if isinstance(name, str) else name[0] for kind, name in found.items()}


def names_of(heads):
    return {what: (*keys, *(MORE_NAMES.get(what, ()) if heads == "all" else ())) for what, keys in NAMES.items()}


def sizes(rng):
    heads, head = rng.choice((4, 6, 8, 12)), rng.choice((32, 64, 80, 128))
    return {"layers": rng.randint(2, 6), "heads": heads, "head": head, "width": heads * head,
            "keys": rng.choice([n for n in range(1, heads + 1) if heads % n == 0]), "ffn": 32 * rng.randint(16, 128),
            "experts_ffn": 32 * rng.randint(4, 24)}


def configured(kind, values):
    return AutoConfig.for_model(kind, **{k: v for k, v in values.items() if k != "model_type"})


def runs(kind, name, values):
    try:
        with torch.device("cuda"):
            model = getattr(transformers, name)._from_config(configured(kind, values), dtype=torch.bfloat16)
        with torch.no_grad():
            inputs = planned_run.make_inputs(model, planned_run.parse(["-", "--seq", "64"]))
            model(**{name: torch.ones_like(value) for name, value in inputs.items()})
        return True
    except Exception:
        return False


def shrunk(kind, name, heads, rng):
    names = names_of(heads)
    config = AutoConfig.for_model(kind).to_dict()
    kept = {k: v for k, v in AutoConfig.for_model(kind).to_diff_dict().items() if isinstance(v, (int, float, str)) and
            not isinstance(v, bool) and "token_id" not in k and "version" not in k}
    for wanted in (names, names, {"layers": names["layers"], "ffn": names["ffn"]}, {"layers": names["layers"]}):
        drawn = sizes(rng)
        small = {"model_type": kind, "architectures": [name], "vocab_size": 64 * rng.randint(100, 900)}
        small |= {k: drawn[what] for what, keys in wanted.items() for k in keys if isinstance(config.get(k), int)}
        if heads == "all" and (config.get("pad_token_id") or 0) >= small["vocab_size"]:
            small["pad_token_id"] = 0
        values = kept | small
        if runs(kind, name, values):
            return json.loads(configured(kind, values).to_json_string()) | small
    return None


def main():
    seed, number, heads, *wanted = sys.argv[1:]
    kinds = {kind: name for kind, name in kinds_of(heads).items() if not wanted or kind in wanted}
    rng, found = random.Random(int(seed)), []
    for kind in rng.sample(sorted(kinds), len(kinds)):
        seed_of_kind = rng.random() if heads == "text" else f"{seed} {kind}"  # whatever other kinds are asked for
        try:
            values = shrunk(kind, kinds[kind], heads, random.Random(seed_of_kind)) \
                if len(found) < int(number) else None
        except Exception:
            continue  # parts of models
        if values:
            found.append(values)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
