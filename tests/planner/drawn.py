# SPDX-License-Identifier: MIT
"""Models of kinds that transformers builds, drawn and shrunk, whose plans are compared with what PyTorch counts.

A row is a configuration ("values"), words for `vtrace estimate` ("planned") and the
same for planned_run.py ("run_words"). Drawn models and measured rows are kept by their content.
"""
import hashlib
import json
import pathlib
import subprocess
import tempfile

from counted import counted, simulated
from recording import PYTHON, VTRACE

CARD = "h100-80g"
# Of kinds whose forward takes tokens and that have a head for them; drawn sizes are those that a small batch runs with.
DRAW = """
import json, random, sys
import torch, transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto as auto
kinds = {k: c for names in (auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
         for k, c in names.items() if not sys.argv[3:] or k in sys.argv[3:]}
NAMES = {"layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"),
         "width": ("hidden_size", "d_model", "n_embd", "dim"), "ffn": ("intermediate_size", "ffn_dim", "d_ff"),
         "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
                   "decoder_attention_heads"),
         "keys": ("num_key_value_heads", "num_kv_heads"), "head": ("head_dim",), "experts_ffn":
         ("moe_intermediate_size",)}

def sizes(rng):
    heads, head = rng.choice((4, 6, 8, 12)), rng.choice((32, 64, 80, 128))
    return {"layers": rng.randint(2, 6), "heads": heads, "head": head, "width": heads * head,
            "keys": rng.choice([n for n in range(1, heads + 1) if heads % n == 0]), "ffn": 32 * rng.randint(16, 128),
            "experts_ffn": 32 * rng.randint(4, 24)}

def runs(kind, name, values):
    try:
        config = AutoConfig.for_model(kind, **{k: v for k, v in values.items() if k != "model_type"})
        with torch.device("cuda"):
            model = getattr(transformers, name)._from_config(config, dtype=torch.bfloat16)
        with torch.no_grad():
            model(torch.ones(1, 64, dtype=torch.int64).to("cuda"))
        return True
    except Exception:
        return False

def shrunk(kind, name, rng):
    config = AutoConfig.for_model(kind).to_dict()
    kept = {k: v for k, v in AutoConfig.for_model(kind).to_diff_dict().items() if isinstance(v, (int, float, str)) and
            not isinstance(v, bool) and "token_id" not in k and "version" not in k}
    for wanted in (NAMES, NAMES, {"layers": NAMES["layers"], "ffn": NAMES["ffn"]}, {"layers": NAMES["layers"]}):
        drawn = sizes(rng)
        small = {"model_type": kind, "architectures": [name], "vocab_size": 64 * rng.randint(100, 900)}
        small |= {k: drawn[what] for what, keys in wanted.items() for k in keys if isinstance(config.get(k), int)}
        values = kept | small
        if runs(kind, name, values):
            config = AutoConfig.for_model(kind, **{k: v for k, v in values.items() if k != "model_type"})
            return json.loads(config.to_json_string()) | small  # all that it writes into a file
    return None

rng, found = random.Random(int(sys.argv[1])), []
for kind in rng.sample(sorted(kinds), len(kinds)):
    name = kinds[kind] if isinstance(kinds[kind], str) else kinds[kind][0]
    seed = rng.random()
    try:
        values = shrunk(kind, name, random.Random(seed)) if len(found) < int(sys.argv[2]) else None
    except Exception:
        continue  # parts of models
    if values:
        found.append(values)
print(json.dumps(found))
"""


def drawn(options):
    words = [options.seed, options.number, *options.kinds]
    with Kept(options.keep, ["drawn", DRAW, *words]) as kept, tempfile.TemporaryDirectory() as folder:
        if kept.value is None:
            kept.value = json.loads(simulated(folder, CARD, "-c", DRAW, *words)[-1])
    return kept.value


class Kept:
    """A value by what it was made of: that of the file, or what it is set to, which goes into the file."""

    def __init__(self, folder, made_of):
        digest = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:20]
        self.file = folder and folder / f"{digest}.json"

    def __enter__(self):
        self.value = json.loads(self.file.read_text()) if self.file and self.file.exists() else None
        return self

    def __exit__(self, *reason):
        if self.file and self.value is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(self.value))


def count(rows, keep):
    """Each row's peak, by PyTorch: those that nothing is known of in one run of another program."""
    missing = []
    for row in rows:
        with Kept(keep, [row["values"], row["run_words"]]) as kept:
            row["counted"] = kept.value
        if not kept.value:
            missing.append(row)
    with tempfile.TemporaryDirectory() as folder:
        results = counted(folder, CARD, [(row["values"], row["run_words"]) for row in missing])
    for row, result in zip(missing, results, strict=True):
        with Kept(keep, [row["values"], row["run_words"]]) as kept:
            row["counted"] = kept.value = result


def estimate(config, *options):
    words = ["--python", PYTHON, *options] if "--run" in options else options
    done = subprocess.run([VTRACE, "estimate", "--json", config, *words], capture_output=True, text=True)
    return (json.loads(done.stdout), None) if done.returncode == 0 else (None, done.stderr.strip())


def tensors(plan, key):
    """Of the stage with most of it, without the context."""
    return max(stage[key] - sum(o[key] for o in stage["owners"] if o["owner"] == "context") for stage in plan["stages"])


def contradicts(plan):
    """Whether figures of one plan do not agree with each other."""
    return any(not 0 <= part["low_bytes"] <= part["bytes"] <= part["high_bytes"] for part in
               (*plan["terms"], *plan["stages"])) or \
        any(abs(stage["bytes"] - sum(owner["bytes"] for owner in stage["owners"])) > len(plan["terms"])
            for stage in plan["stages"]) or plan["peak"]["bytes"] != max(stage["bytes"] for stage in plan["stages"])


def run(row, config, keep):
    """The same by `estimate --run`."""
    with Kept(keep, ["--run", row["values"], row["planned"]]) as kept:
        if kept.value is None:
            by_run, refused = estimate(config, *row["planned"], "--run")
            kept.value = {"run": by_run["peak"]["allocated_bytes"] if by_run else None, "refused": refused}
    return kept.value


def compare(row, options):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps(row["values"]))
        plan, unknown = estimate(config, *row["planned"])
        if not options.formulas:
            row |= run(row, config, options.keep)
    row |= {"kind": row["values"]["model_type"], "words": " ".join(row["planned"][:-2]), "unknown": unknown,
            "truth": row["counted"].get("peak_allocated_bytes") or row.get("run")}
    if plan:
        row |= {"formulas": tensors(plan, "bytes"), "low": tensors(plan, "low_bytes"), "fit": plan["gpus"][0]["fit"],
                "high": tensors(plan, "high_bytes"), "contradicts": contradicts(plan),
                "known": not plan["model"]["is_guessed"]}
    return row


def is_outside(row):
    return bool(row["truth"]) and "formulas" in row and not row["low"] <= row["truth"] <= row["high"] * 1.005


def show(row):
    def cell(value):
        return f"{value / 2**30:8.3f}" if value else f"{'-':>8}"

    reason = row.get("refused") or row["unknown"] or row["counted"].get("error") or ""
    error = f"{row['formulas'] / row['truth'] - 1:+8.2%}" if row["truth"] and "formulas" in row else f"{'-':>8}"
    print(f"{row['kind']:24} {row['words']:76} {cell(row['truth'])} {cell(row.get('run'))} {cell(row.get('formulas'))} "
          f"{error} {'outside' if is_outside(row) else '':8}"
          f"{'known' if row.get('known') else 'guessed' if 'known' in row else '-':8}{reason[-90:]}", flush=True)
