# SPDX-License-Identifier: MIT
"""vtrace estimate of a Hugging Face model folder: config.json beside safetensors files and their index."""
import json
import math
import struct

from combinations import estimate
from recording import vtrace
from test_estimate import refused, stage_owners
from test_model_files import LLAMA


def stored(path, tensors):
    """A safetensors file of {name: (type, shape)}, its data a hole."""
    sizes, header, at = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1}, {}, 0
    for name, (dtype, shape) in tensors.items():
        end = at + sizes[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def llama_tensors(dtype, layers=2):
    linear = {"self_attn.q_proj": [64, 64], "self_attn.k_proj": [64, 64], "self_attn.v_proj": [64, 64],
              "self_attn.o_proj": [64, 64], "mlp.gate_proj": [128, 64], "mlp.up_proj": [128, 64],
              "mlp.down_proj": [64, 128], "input_layernorm": [64], "post_attention_layernorm": [64]}
    inside = {f"model.layers.{i}.{name}.weight": (dtype, shape) for i in range(layers)
              for name, shape in linear.items()}
    return {"model.embed_tokens.weight": (dtype, [100, 64]), **inside, "model.norm.weight": (dtype, [64]),
            "lm_head.weight": (dtype, [100, 64])}


def make_folder(folder, tensors, config=None):
    """Two files and their index, as save_pretrained() writes a model that is too large for one."""
    names = sorted(tensors)
    files = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, own in files.items():
        stored(folder / file, {name: tensors[name] for name in own})
    index = {"metadata": {"total_size": 1}, "weight_map": {name: file for file, own in files.items() for name in own}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_folder_is_its_config_with_the_type_of_its_files(tmp_path):
    folder = make_folder(tmp_path, llama_tensors("F32"), LLAMA | {"dtype": "bfloat16"})
    plan, config = estimate(folder, "--train"), estimate(folder / "config.json", "--train", "--dtype", "fp32")
    assert plan["model"]["parameters"] == config["model"]["parameters"] and plan["model"]["note"] is None
    assert plan["peak"]["bytes"] == config["peak"]["bytes"]
    assert estimate(folder, "--dtype", "fp16")["symbols"]["w"] == 2


def test_the_files_of_a_folder_have_the_last_word_on_parameters(tmp_path):
    """A projection that the configuration knows nothing of, buffers that old releases stored."""
    extra = {"model.layers.0.extra_proj.weight": ("BF16", [640, 64]),
             "model.layers.0.attn.bias": ("BF16", [1, 1, 32, 32]), "model.layers.0.rotary_emb.inv_freq": ("F32", [8])}
    plan = estimate(make_folder(tmp_path, llama_tensors("BF16") | extra, LLAMA), "--train")
    alone = estimate(tmp_path / "config.json", "--train")
    assert plan["model"]["parameters"] == alone["model"]["parameters"] + 640 * 64
    assert f"the files have {plan['model']['parameters']} parameters" in plan["model"]["note"]
    for name, share in (("weights", 1), ("optimizer", 2)):
        more = stage_owners("step", tmp_path, "--train")[name] - \
            stage_owners("step", tmp_path / "config.json", "--train")[name]
        assert more == share * 640 * 64 * 2


def test_a_tied_head_that_is_stored_is_the_embedding(tmp_path):
    plan = estimate(make_folder(tmp_path, llama_tensors("BF16"), LLAMA | {"tie_word_embeddings": True}))
    assert plan["model"]["parameters"] == estimate(tmp_path / "config.json")["model"]["parameters"]
    assert plan["model"]["note"] is None


def test_a_folder_of_two_types_is_as_stored(tmp_path):
    tensors = {name: ("F8_E4M3" if "proj" in name else "BF16", shape)
               for name, (_, shape) in llama_tensors("BF16").items()}
    plan = estimate(make_folder(tmp_path, tensors, LLAMA))
    size = sum(math.prod(shape) * (1 if dtype == "F8_E4M3" else 2) for dtype, shape in tensors.values())
    assert {"owner": "weights", "formula": "Pstored", "bytes": size}.items() <= plan["terms"][0].items()


def test_a_folder_without_a_config_has_weights_only(tmp_path):
    plan = estimate(make_folder(tmp_path, llama_tensors("F32")))
    assert stage_owners("load", tmp_path)["weights"] == 4 * plan["model"]["parameters"]
    assert "config.json has the rest" in plan["model"]["note"]


def test_one_file_of_a_folder_is_enough_and_others_do_not_count(tmp_path):
    stored(tmp_path / "model.safetensors", llama_tensors("F32"))
    stored(tmp_path / "consolidated.safetensors", llama_tensors("F32", 5))
    assert estimate(tmp_path)["model"]["parameters"] == sum(
        math.prod(shape) for _, shape in llama_tensors("F32").values())


def test_a_configuration_of_more_layers_than_there_are_files_for(tmp_path):
    """Nothing is looped over for as long as a number in it says."""
    folder = make_folder(tmp_path, llama_tensors("BF16"), LLAMA | {"num_hidden_layers": 10**8})
    assert refused(vtrace("estimate", folder), 3, "more than 10000 layers")
    make_folder(folder, llama_tensors("BF16"), LLAMA | {"num_hidden_layers": 10**4})
    assert estimate(folder, "--train")["replay"] is None
    done = vtrace("estimate", folder, "--train", timeout=10)
    assert done.returncode == 0 and "plus what the allocator caches" in done.stdout


def test_folders_that_are_none(tmp_path):
    assert refused(vtrace("estimate", tmp_path), 3, "contains neither config.json nor")
    folder = make_folder(tmp_path, llama_tensors("F32"), LLAMA)
    index = folder / "model.safetensors.index.json"
    for text, word in (("{", "too short"), ('{"metadata": 1', "no index"), ("[1, 2, 3]", "no index"),
                       ('{"weight_map": {}}', "no index"),
                       ('{"weight_map": {"a": "../x.safetensors"}}', "is not a file in this folder"),
                       ('{"weight_map": {"a": ""}}', "is not a file in this folder"),
                       ('{"weight_map": {"a": "gone.safetensors"}}', "gone.safetensors: cannot be read")):
        index.write_text(text)
        assert refused(vtrace("estimate", folder), 3, word), text
    (folder / "config.json").write_text("{}")
    assert refused(vtrace("estimate", folder), 3, "config.json")
