# SPDX-License-Identifier: MIT
"""Runs that are made to fit a drawn budget, and what they take then: `fits` and test_fits.py."""
import itertools
import json
from dataclasses import dataclass

from combinations import GPU
from counted import counted, simulated
from recording import PYTHON, WORKLOADS, record, vtrace

TOLERANCE = 0.02
COMFORTABLE = 0.9


@dataclass
class Row:
    name: str
    was: int
    limit: int  # of tensors: the budget without the context
    found: int
    cheaper: int
    what: str
    config: dict  # None: of uneven.py
    runs: tuple  # the words of the set that was found, and those of the next cheaper one
    taken: int = 0
    cheaper_taken: int = 0

    @property
    def is_right(self):
        return self.taken <= self.limit * (1 + TOLERANCE) and self.cheaper_taken >= self.limit * (1 - TOLERANCE)


def config_of(rng):
    heads = rng.choice((4, 8))
    width, layers = heads * 64, rng.randint(4, 10)
    rest = {"intermediate_size": 64 * rng.randint(8, 32), "vocab_size": 64 * rng.randint(40, 300)}
    kind = rng.choice(("llama", "qwen3", "mistral", "gpt2", "phi", "stablelm", "gemma", "bert"))
    if kind == "gpt2":
        return {"model_type": kind, "n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": 1024,
                "vocab_size": rest["vocab_size"]}
    more = {"architectures": ["BertForMaskedLM"], "max_position_embeddings": 1024} if kind == "bert" else \
        {"num_key_value_heads": heads, "head_dim": 64}
    return {"model_type": kind, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads} | \
        rest | more


def search(*arguments):
    done = vtrace("estimate", "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def between(rng, least, most):
    return int(least + rng.uniform(0.1, 0.9) * (most - least))


def recorded(folder, rng):
    """One that takes less with checkpoints: where most is taken elsewhere, nothing is to be found."""
    for attempt in itertools.count():
        name, config, command = run_of(folder, rng)
        database = record(folder, PYTHON, *command, profile=f"{GPU},memory=4096GiB", name=f"was{attempt}.db").database
        first = search("--from", database, "--budget", "1000GiB")
        context, was = first["context_bytes"], first["recorded_allocated_bytes"]
        limit = between(rng, first["least_allocated_bytes"], was)
        found = search("--from", database, "--budget", f"{limit + context}B")
        sets = [found["checkpointed"], found["next_cheaper"]]
        if limit < was and all(sets):
            break
    words = command[1:] if config is None else command[2:]
    runs = [(*words, *(("--checkpointed", ",".join(s["layers"])) if s["layers"] else ())) for s in sets]
    return Row(name, was, limit, sets[0]["allocated_bytes"], sets[1]["allocated_bytes"],
               f"{len(sets[0]['layers'])} of {len(found['layers'])} layers", config, runs)


def run_of(folder, rng):
    """Its name, its configuration if it has one, and its command."""
    if rng.random() < 0.5:
        inner = [256 * rng.randint(2, 24) for _ in range(rng.randint(4, 12))]
        return f"uneven {len(inner)} layers", None, (
            WORKLOADS / "uneven.py", "--width", 64 * rng.randint(4, 12), "--rows", 512 * rng.randint(4, 24),
            "--inner", ",".join(map(str, inner)), "--outputs", 100 * rng.randint(1, 40))
    config = config_of(rng)
    (folder / "config.json").write_text(json.dumps(config))
    return f"{config['model_type']} recorded", config, (
        WORKLOADS / "planned_run.py", folder / "config.json", "--train", "--batch", rng.randint(2, 8), "--seq",
        64 * rng.randint(2, 8), "--optimizer", rng.choice(("sgd", "momentum")), "--uncached")


def words_of(changes):
    """For planned_run.py; None: it has no such thing."""
    words = []
    for change in changes:
        option, value = change["option"], change["value"]
        if option == "checkpointing":
            words += ["--checkpointing"]
        elif option == "checkpointed-layers":
            words += ["--checkpointed-layers", value]
        elif option == "optimizer-loop":
            words += ["--fused"]
        else:
            return None
    return words


def planned(folder, rng):
    while True:
        config = config_of(rng)
        (folder / "config.json").write_text(json.dumps(config))
        batch, seq = rng.randint(2, 8), 64 * rng.randint(2, 8)
        optimizer = rng.choice(("sgd", "momentum"))
        options = (folder / "config.json", "--train", "--batch", batch, "--seq", seq, "--optimizer", optimizer,
                   "--dtype", "bf16", "--gpu", GPU)
        plan, least = (search(*options, *more) for more in ((), ("--checkpointing", "full")))
        context = next(o["bytes"] for o in plan["peak"]["owners"] if o["owner"] == "context")
        budget = between(rng, least["peak"]["bytes"], plan["peak"]["bytes"])
        found = search(*options, "--budget", f"{budget}B")
        sets = [found["sets"][0] if found["sets"] else None, found["next_cheaper"]]
        words = [words_of(s["changes"]) if s else None for s in sets]
        if None not in words and words[0] != words[1]:
            break
    asked = ("--train", "--batch", batch, "--seq", seq, "--optimizer", optimizer)
    # Above that a plan is "tight"; what was never compared "may fit" the whole budget, and nothing more is said of it.
    limit = int(budget * (COMFORTABLE if found["sets"][0]["fit"] == "fits" else 1)) - context
    return Row(f"{plan['model']['family']} planned", plan["peak"]["bytes"] - context, limit,
               sets[0]["peak_bytes"] - context, sets[1]["peak_bytes"] - context, " ".join(words[0]), config,
               [(*asked, *more) for more in words])


def drawn(folder, rng, is_recorded):
    return recorded(folder, rng) if is_recorded else planned(folder, rng)


def run(folder, rows):
    """What each takes with both of its sets: all of planned_run.py with one start of PyTorch."""
    of_configs = [row for row in rows if row.config]
    peaks = counted(folder, GPU, [(row.config, words) for row in of_configs for words in row.runs])
    for index, row in enumerate(of_configs):
        row.taken, row.cheaper_taken = (peak["peak_allocated_bytes"] for peak in peaks[2 * index:2 * index + 2])
    for row in rows:
        if not row.config:
            row.taken, row.cheaper_taken = (
                json.loads(simulated(folder, GPU, WORKLOADS / "uneven.py", *words)[-1])["peak_allocated_bytes"]
                for words in row.runs)
