# SPDX-License-Identifier: MIT
"""Runs that are both planned and measured: real PyTorch and transformers on the simulated device, without weights."""
import json
import re
from dataclasses import dataclass, field

from recording import SOURCE, record_python, vtrace

PRESETS = SOURCE / "analyzer" / "planner" / "presets.json"
GPU = "h200-141g"
TIMEOUT_S = 1800  # of one run: eager attention over thousands of operators, on a machine with other work
TORCH_DTYPES = {"bf16": "bfloat16", "fp32": "float32", "fp16": "float16"}

# The report's owners under the planner's: a cache that is on in training holds what attention keeps for backward;
# "activation gradients" are here gradients that have not reached their parameter.
SAME = {"activation": "gradients", "kv": "activations/attention", "activations/residual": "activations/norm",
        "activations/mask": "activations/attention"}


@dataclass
class Combination:
    model: str
    batch: int = 1
    seq: int = 1024
    train: bool = True
    plan: dict = field(default_factory=dict)  # options of vtrace estimate
    run: tuple = ()  # the same for the workload
    config: dict = None  # None: the preset's

    @property
    def name(self):
        words = [f"{k}={v}" for k, v in self.plan.items()]
        return " ".join([self.model, "train" if self.train else "infer", f"{self.batch}x{self.seq}", *words])


def plain(model, batch, seq, **plan):
    return Combination(model, batch, seq, True, plan, ())


COMBINATIONS = (
    plain("qwen2.5-0.5b", 4, 1024),
    plain("llama-3.2-1b", 2, 2048),
    Combination("llama-3.2-1b", 2, 2048, True, {"checkpointing": "full"}, ("--checkpointing",)),
    Combination("llama-3.2-1b", 2, 1024, True, {"attention": "eager"}, ("--attention", "eager")),
    Combination("llama-3.2-1b", 2, 512, True, {"optimizer-loop": "fused"}, ("--fused",)),
    plain("qwen3-0.6b", 4, 1024),
    plain("gemma-3-1b", 2, 1024),
    plain("phi-1.5", 2, 1024),
    plain("pythia-160m", 8, 1024),
    plain("gpt2", 4, 1024),
    Combination("gpt2", 4, 1024, True, {"dtype": "fp32"}, ("--dtype", "float32")),
    Combination("qwen2.5-0.5b", 4, 1024, True, {"dtype": "fp32"}, ("--dtype", "float32")),
    Combination("qwen2.5-0.5b", 4, 1024, True, {"dtype": "fp32", "autocast": "bf16"},
                ("--dtype", "float32", "--autocast")),
    plain("llama-2-7b", 1, 2048),
    Combination("llama-3.2-1b", 4, 2048, False),
    Combination("llama-3.2-1b", 4, 2048, False, {"new-tokens": 8}, ("--new-tokens", "8")),
    Combination("mistral-7b", 2, 8192, False, {"new-tokens": 4}, ("--new-tokens", "4")),
    Combination("qwen2.5-0.5b", 4, 1024, False, {"attention": "eager"}, ("--attention", "eager")),
)


def estimate(*arguments):
    done = vtrace("estimate", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def config_file(directory, combination):
    path = directory / "config.json"
    path.write_text(json.dumps(combination.config or json.loads(PRESETS.read_text())[combination.model]))
    return path


def plan(directory, combination):
    """The plan, for a card whose context is known."""
    options = [x for k, v in combination.plan.items() for x in (f"--{k}", v)]
    mode = "--train" if combination.train else "--infer"
    return estimate(config_file(directory, combination), mode, "--batch", combination.batch, "--seq", combination.seq,
                    "--gpu", GPU,
                    *(() if "dtype" in combination.plan else ("--dtype", "bf16")), *options)


def allocated(planned):
    """What the plan says is in tensors at its peak."""
    return max(stage["bytes"] - sum(o["bytes"] for o in stage["owners"] if o["owner"] == "context")
               for stage in planned["stages"])


@dataclass
class Measured:
    allocated: int  # the peaks of PyTorch's allocator, in bytes
    reserved: int
    rows: list  # what each owner had when most was allocated


def measure(directory, combination):
    config = config_file(directory, combination)
    recording = record_python(directory, "planned_run.py", config, "--batch", combination.batch, "--seq",
                              combination.seq, *(["--train"] if combination.train else []), *combination.run,
                              profile=GPU, timeout=TIMEOUT_S)
    found = re.search(r'^{"peak_allocated_bytes": .*}$', recording.process.stdout, re.MULTILINE)
    assert found, recording.process.stderr
    peaks = json.loads(found[0])
    return Measured(peaks["peak_allocated_bytes"], peaks["peak_reserved_bytes"],
                    recording.blocks("most-allocated", "--by", "owner")["groups"])


def measured_once(directory, combination, keep):
    """What measure() gives, from a file of the folder `keep` if the same run is there; else it is put there."""
    made_of = [combination.name, combination.config, *combination.run]
    path = keep / (re.sub(r"[^\w.=-]+", "_", combination.name) + ".json")
    if path.exists() and (kept := json.loads(path.read_text()))["run"] == made_of:
        return Measured(kept["peak"], kept["reserved"], kept["owners"])
    found = measure(directory, combination)
    path.write_text(json.dumps({"run": made_of, "peak": found.allocated, "reserved": found.reserved,
                                "owners": found.rows}))
    return found


def owners(rows, key):
    """Bytes by owner, the words of report and plan brought together."""
    sums = {}
    for row in rows:
        owner = row["owner"].split(" ")[0]
        owner = "cached" if owner.startswith("cached/") else SAME.get(owner, owner)
        sums[owner] = sums.get(owner, 0) + row[key]
    return sums


@dataclass
class Compared:
    planned: int
    measured: int
    misses: dict  # owner: (planned, measured), those further off than 5 % and 16 MiB
    reserved: int  # what the measured run had at most
    replayed: int  # the same as planned; None: such a plan is not played

    @property
    def error(self):
        return self.planned / self.measured - 1

    @property
    def reserved_error(self):
        return self.replayed and self.replayed / self.reserved - 1


def with_ends(planned, replay):
    """The plan's rows of activations with the ends of their blocks; those of parameters are terms of the plan."""
    ends = [row for row in (replay or {"ends": []})["ends"] if row["owner"].startswith("activations/")]
    return planned + ends


def off(planned, found):
    """{owner: (planned, measured)} of those that are too far off."""
    expected = owners(planned, "bytes")
    pairs = {owner: (expected.get(owner, 0), found.get(owner, 0))
             for owner in (found.keys() | expected.keys()) - {"context", "cached", "inputs"}}
    return {owner: (a, b) for owner, (a, b) in pairs.items() if abs(a - b) > max(0.05 * a, 16 * 2**20)}


def compare(directory, combination, keep=None):
    """Of stages that are planned within 1 % of the highest, any may be the one where the run has its peak."""
    measured = measured_once(directory, combination, keep) if keep else measure(directory, combination)
    planned = plan(directory, combination)
    found = owners(measured.rows, "bytes")
    misses = [off(with_ends(stage["owners"], planned["replay"]), found) for stage in planned["stages"]
              if stage["bytes"] > 0.99 * planned["peak"]["bytes"]]
    return Compared(allocated(planned), measured.allocated, min(misses, key=len), measured.reserved,
                    (planned["replay"] or {}).get("reserved_bytes"))
