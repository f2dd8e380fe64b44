# SPDX-License-Identifier: MIT
"""What `vtrace estimate` reads of models: configurations, safetensors and GGUF files, good and bad ones."""
import json
import struct
import subprocess

import pytest

from combinations import estimate
from recording import TIMEOUT_S, VTRACE, clean_environment, vtrace
from test_estimate import FAMILIES, refused

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 100}


def test_a_config_beside_its_preset(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA))
    plan = estimate(config)
    assert plan["model"]["parameters"] == 2 * 6400 + 2 * (16384 + 24576 + 128) + 64
    assert plan["model"]["note"] is None


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_of_other_families(name, tmp_path):
    """Of models without a preset: the sums of numel() over the parameters of the same in transformers 5.23."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(FAMILIES[name]["config"]))
    model = estimate(config)["model"]
    assert model["parameters"] == FAMILIES[name]["parameters"]
    assert model["note"] is None or model["note"].endswith("not validated for this model type")


def test_a_safetensors_file(tmp_path):
    header = json.dumps({"a.weight": {"dtype": "BF16", "shape": [100, 8], "data_offsets": [0, 1600]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(1600))
    plan = estimate(path)
    assert plan["model"]["parameters"] == 800
    assert {o["owner"]: o["bytes"] for o in plan["peak"]["owners"]}["weights"] == 1600
    path.write_bytes(path.read_bytes()[:-1])
    assert refused(vtrace("estimate", path), 3, "do not fit the file")
    path.write_bytes(struct.pack("<Q", 2**63) + header)
    assert refused(vtrace("estimate", path), 3, "truncated")
    path.write_bytes(b"")
    assert refused(vtrace("estimate", path), 3, "too short")


def write_safetensors(path, header, data_bytes):
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with path.open("r+b") as file:
        file.truncate(8 + len(header) + data_bytes)


def test_a_header_as_long_as_the_format_allows(tmp_path):
    """Of 700,000 tensors; not more memory than the file and a table of its shapes."""
    path = tmp_path / "model.safetensors"
    names, size = [], 0
    for i in range(700000):
        names.append(f'"model.layers.{i % 60}.mlp.experts.{i // 60}.up_proj.weight":{{"dtype":"BF16","shape":[4,5],'
                     f'"data_offsets":[{40 * i},{40 * i + 40}]}}')
        size += len(names[-1]) + 1
    header = ("{" + ",".join(names)).encode()
    header += b" " * (100_000_000 - len(header) - 1) + b"}"
    write_safetensors(path, header, 40 * 700000)
    # A limit, for the most that was used is told of this process too, which made the header.
    done = subprocess.run(["bash", "-c", f'ulimit -v {2**18} && exec "$@"', "-", VTRACE, "estimate", "--json", path],
                          capture_output=True, text=True, env=clean_environment(), timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["model"]["parameters"] == 14_000_000
    assert {o["owner"]: o["bytes"] for o in plan["peak"]["owners"]}["weights"] == 28_000_000


@pytest.mark.parametrize("header, words", (
    (b" " * 100_000_001, "more than the 100000000"),
    (b'{"x":"' + b"a" * (17 * 2**20) + b'"}', "do not fit the file"),
    (b'{"x":' + b"[" * (17 * 2**20) + b"}", "not a JSON object"),
    (("{" + ",".join(f'"{i}":0' for i in range(2**17 + 1)) + "}").encode(), "do not fit the file")))
def test_headers_that_would_take_all_memory(tmp_path, header, words):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, header, 0)
    assert refused(vtrace("estimate", path), 3, words)


def test_counts_that_would_take_all_memory(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**17 + 1, 0) + bytes(24) * (2**17 + 1))
    assert refused(vtrace("estimate", path), 3, "too many tensors")


def gguf(*, cut=0):
    """A header of one table and one matrix in Q6_K and Q4_K."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def size(key, value):
        return text("llama." + key) + struct.pack("<II", 4, value)

    def tensor(name, columns, rows, kind):
        return text(name) + struct.pack("<IQQIQ", 2, columns, rows, kind, 0)

    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama"), size("block_count", 2),
            size("embedding_length", 256), size("feed_forward_length", 512), size("attention.head_count", 4)]
    tensors = [tensor("token_embd.weight", 256, 1000, 14), tensor("blk.0.attn_q.weight", 256, 256, 12)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head[:len(head) - cut]


def test_a_gguf_file(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf())
    plan = estimate(path, "--seq", "1024")
    owners = {o["owner"]: o["bytes"] for s in plan["stages"] if s["name"] == "forward" for o in s["owners"]}
    assert owners["weights"] == 256000 * 6.5625 / 8 + 65536 * 4.5 / 8
    assert owners["kv cache"] == 2 * 4 * 64 * 2 * 1024 * 2
    path.write_bytes(gguf(cut=9))
    assert refused(vtrace("estimate", path), 3, str(path), "truncated")


def test_configurations_that_cannot_be_read(tmp_path):
    config = tmp_path / "config.json"
    for text, word in (("", "invalid JSON"), ("{", "invalid JSON"), ("[]", "not a JSON object"),
                       ("{}", "hidden_size: missing"),
                       (json.dumps(LLAMA | {"hidden_size": 0}), "at least 1"),
                       (json.dumps(LLAMA | {"num_hidden_layers": -3}), "whole number"),
                       (json.dumps(LLAMA | {"vocab_size": 10**15}), "whole number"),
                       (json.dumps(LLAMA | {"vocab_size": 1.5}), "whole number"),
                       ("[" * 100000, "invalid JSON"), (json.dumps(LLAMA)[:-5], "invalid JSON")):
        config.write_text(text)
        assert refused(vtrace("estimate", config), 3, str(config), word)
    with config.open("wb") as file:
        file.truncate(100 * 2**20)
    assert refused(vtrace("estimate", config), 3, "too large")
    assert refused(vtrace("estimate", tmp_path / "absent" / "config.json"), 3, "cannot read")
    assert refused(vtrace("estimate", "no-such-preset"), 3, "neither a file nor a preset")


def test_texts_of_a_configuration_drive_no_terminal(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA | {"model_type": "llama\n\x1b[31mred\x9b"}))
    done = vtrace("estimate", config)
    assert done.returncode == 0 and "unknown model_type llama??[31mred??" in done.stdout
    assert not set(done.stdout) & {"\x1b", "\x9b"}
    config.write_text('{"a": \x1b[31mred}')
    assert refused(vtrace("estimate", config), 3, "invalid JSON: line 1", "?")


@pytest.mark.parametrize("more, words", (
    ({"dtype": "float64"}, ("unknown dtype float64",)),
    ({"torch_dtype": "int3"}, ("unknown dtype int3",)),
    ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, ("quantization_config (gptq)", "--quantise gptq")),
    ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, ("(gptq) is not supported",)),
    ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}, ("--quantise int8",)),
    ({"dtype": "int3", "quantization_config": {"quant_method": "fp8"}}, ("dtype int3", "; quantization_config (fp8)")),
))
def test_types_that_no_plan_takes_from_a_configuration_are_said(more, words, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA | more))
    note = estimate(config)["model"]["note"]
    assert all(word in note for word in words), note
    config.write_text(json.dumps(LLAMA | {"dtype": "float16"}))
    assert estimate(config)["model"]["note"] is None
