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
from recording import PYTHON, VTRACE, WORKLOADS

CARD = "h100-80g"
DRAW = WORKLOADS / "draw_models.py"


def drawn(options):
    words = [options.seed, options.number, options.heads, *options.kinds]
    with Kept(options.keep, ["drawn", DRAW.read_text(), *words]) as kept, tempfile.TemporaryDirectory() as folder:
        if kept.value is None:
            kept.value = json.loads(simulated(folder, CARD, DRAW, *words)[-1])
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
