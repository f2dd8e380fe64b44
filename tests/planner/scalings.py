# SPDX-License-Identifier: MIT
"""Programs that are recorded with one batch, scaled to another, and run with that: vtrace estimate --from."""
import json
import re
from dataclasses import dataclass

from combinations import GPU, PRESETS, TIMEOUT_S
from independent import CONFIGS
from recording import PYTHON, SOURCE, WORKLOADS, record, vtrace

CASES = SOURCE / "tests" / "accuracy" / "cases"
RESIZED = SOURCE / "tests" / "planner" / "resized.py"


@dataclass
class Scaling:
    name: str
    was: tuple  # rows, and tokens unless there are none
    new: tuple
    options: tuple = ()  # of planned_run.py; a case of tests/accuracy otherwise
    file: str = ""
    is_told: bool = False  # no probe sees what the program hands to a function: --was says it

    def command(self, folder, size):
        if self.file:
            return PYTHON, RESIZED, CASES / self.file, self.name, text(self.was), text(size)
        model = self.name.split()[0]
        path = folder / "config.json"
        path.write_text(json.dumps(CONFIGS.get(model) or json.loads(PRESETS.read_text())[model]))
        return PYTHON, WORKLOADS / "planned_run.py", path, *self.options, *flags(size)


def text(size):
    return "x".join(map(str, size))


def flags(size):
    return ("--batch", str(size[0]), *(("--seq", str(size[1])) if len(size) > 1 else ()))


def run(name, was, new, *options):
    return Scaling(name, was, new, options)


def case(file, name, was, new, is_told=False):
    return Scaling(name, was, new, (), file, is_told)


SCALINGS = (
    case("programs.py", "sprache", (8, 256), (14, 200)),
    case("programs.py", "dictionary_decoder", (8, 256), (20, 130), True),
    case("programs.py", "bare_tensors", (2048,), (5000,), True),
    case("decoders.py", "gemma2", (8, 256), (6, 600)),
    case("decoders.py", "llama_reentrant", (8, 256), (3, 1100)),
    case("decoders.py", "mamba", (8, 64), (5, 100)),
    case("encoders.py", "vit", (16,), (44,)),
    case("vision.py", "cnn_autocast", (32,), (80,)),
    case("losses.py", "chunked_naive", (8, 256), (6, 1024)),
    run("gpt2 train", (2, 512), (5, 900), "--train", "--dtype", "float32"),
    run("qwen3-0.6b train, eager", (2, 256), (3, 1000), "--train", "--attention", "eager"),
    run("small-mixtral train", (2, 512), (4, 1300), "--train"),
    run("t5-base train", (4, 256), (7, 600), "--train"),
    run("llama-3.2-1b generates", (2, 1024), (5, 3000), "--new-tokens", "8"),
)


def peaks(recording):
    """(allocated, reserved), as PyTorch's allocator and the books have them."""
    found = re.search(r'{"peak_allocated_bytes": (\d+)', recording.process.stdout)
    assert found, recording.process.stderr
    return int(found[1]), max(d["peak"]["reserved_bytes"] for d in recording.report()["devices"])


def scale(database, scaling, *more):
    told = ("--was", text(scaling.was)) if scaling.is_told else ()
    done = vtrace("estimate", "--from", database, *flags(scaling.new), *told, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(folder, scaling):
    """{what: (scaled, measured)} of allocated and reserved bytes."""
    was = record(folder, *scaling.command(folder, scaling.was), profile=GPU, name="was.db", timeout=TIMEOUT_S)
    assert was.process.returncode == 0, was.process.stderr
    peak = scale(was.database, scaling, "--json")["peak"]
    allocated, reserved = peaks(record(folder, *scaling.command(folder, scaling.new), profile=GPU, name="new.db",
                                       timeout=TIMEOUT_S))
    return {"allocated": (peak["allocated_bytes"], allocated), "reserved": (peak["reserved_bytes"], reserved)}
