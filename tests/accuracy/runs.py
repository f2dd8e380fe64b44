# SPDX-License-Identifier: MIT
"""The two runs of a case: the one under observation, whose truth is kept, and the one under vtrace, which is scored."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from importlib import metadata

from recorded import Recorded, books
from recording import BUILD, PYTHON, SOURCE, TIMEOUT_S, clean_environment, complete, vtrace
from score import Case

HERE = pathlib.Path(__file__).resolve().parent
ORACLE = HERE / "oracle"
SIM_RUN = SOURCE / "tests" / "simulator" / "sim-run"
PROFILE = "h100-80g"
CACHE = pathlib.Path(os.environ.get("VTRACE_CACHE", pathlib.Path.home() / ".cache" / "vtrace")) / "accuracy"
# What is read from the device decides which way some programs go, and depends on what lay at that address before: that
# is not the same in both runs.  So larger copies leave zeros there; single values still come back.
ENVIRONMENT = {"VTRACE_SIM_COPY_LIMIT": "64"}
# How PyTorch may be told to take memory from the driver at every tensor: (what runs the case's file, environment).
PLUGGABLE = (HERE / "pluggable.py", BUILD / "tests" / "workloads" / "pluggable_allocator.so")
BACKENDS = {
    "caching": ((), {}),
    "cudaMallocAsync": ((), {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}),
    "no-cache": ((), {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
    "pluggable": (PLUGGABLE, {}),
}
KEPT_S = 30 * 24 * 3600  # truths of sources that may come back, and of other trees
LIBRARIES = ("torch", "transformers", "peft", "diffusers", "timm", "accelerate", "torchvision")


class Failed(Exception):
    pass


def version(library):
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "-"


def has(entry):
    return all(version(library) != "-" for library in entry.options.get("needs", ()))


def imported(file):
    """The file, and what it imports from its folder, in turn: what a case says may stand in another case's file."""
    found, todo = [], [file]
    while todo:
        path = todo.pop()
        found.append(path)
        names = re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        todo += [at for name in names if (at := path.parent / f"{name}.py").exists() and at not in found + todo]
    return found


def key(entry, oracles=()):
    """Whatever a run depends on but vtrace itself; the truth depends on the oracle, too."""
    text = hashlib.sha256(entry.name.encode())
    paths = [*imported(entry.file), HERE / "cases" / "stage.py"]
    if entry.oracle != ORACLE:
        paths += sorted(entry.file.parent.glob("program*"))
    for folder in oracles:
        paths += sorted(folder.glob("*.py"))
    for path in paths:
        text.update(path.read_bytes())
    text.update(repr(ENVIRONMENT).encode())
    others = [library for library in entry.options.get("needs", ()) if library not in LIBRARIES]
    text.update(" ".join(version(library) for library in (*LIBRARIES, *others)).encode())
    return text.hexdigest()[:24]


def arguments(entry):
    """What Python is started with: the case's file, or what stands in a file beside it: a notebook, a text for -c."""
    source = entry.options.get("source")
    if source is None:
        return [entry.file, entry.name]
    path = entry.file.parent / source
    return ["-m", "notebook_client", path] if path.suffix == ".ipynb" else ["-c", path.read_text()]


def profile(entry):
    return entry.options.get("device", PROFILE)


def environment(entry):
    return ENVIRONMENT | entry.options.get("env", {})


def find_truth(entry):
    path = CACHE / f"{entry.name}-{key(entry, (ORACLE, entry.oracle))}.json"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with open(CACHE / f"{entry.name}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be finding it out
            if not path.exists():
                observe(entry, path)
    return json.loads(path.read_text())


def observe(entry, path):
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, other_ranks(entry, folder) as place:
        output = pathlib.Path(folder) / "truth.json"
        done = subprocess.run(
            [SIM_RUN, BUILD, profile(entry), PYTHON, entry.oracle / "main.py", entry.file, entry.name, output],
            cwd=folder, env=clean_environment(environment(entry) | place), capture_output=True, text=True,
            timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        if done.returncode or not output.exists():
            raise Failed(f"{entry.name}, observed: {done.stderr[-2000:]}")
        output.rename(path)
    for old in CACHE.glob("*.json"):
        if time.time() - old.stat().st_mtime > KEPT_S:
            old.unlink(missing_ok=True)


@contextlib.contextmanager
def other_ranks(entry, folder):
    """The environment of rank 0, while the other ranks of the case run beside it on simulated devices of their own."""
    nr = entry.options.get("ranks", 1)
    if nr == 1:
        yield {}
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(nr), "LOCAL_WORLD_SIZE": str(nr)}
    places = [place | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(nr)]
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(subprocess.Popen(
            [SIM_RUN, BUILD, profile(entry), PYTHON, entry.file, entry.name], cwd=folder,
            env=clean_environment(environment(entry) | place), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)) for place in places[1:]]
        try:
            yield places[0]
        finally:
            for other in others:
                try:
                    other.wait(60)
                except subprocess.TimeoutExpired:  # rank 0 failed, and they wait for it
                    other.kill()


def record(entry, probe, folder, backend="caching", observe=1):
    """(recording, largest difference of its books, events looked at); 0 events where there are no books to keep: asked
    for each tensor, the driver takes whole granules, and only PyTorch's allocator asks for such."""
    database, ledger = folder / "run.db", folder / "ledger"
    extra = {"VTRACE_SIM_LEDGER": str(ledger), "VTRACE_PROBE": str(probe), "VTRACE_OBSERVE": str(observe)}
    through, settings = BACKENDS[backend]
    with other_ranks(entry, folder) as place:
        done = vtrace("run", "--simulate", profile(entry), "-q", "-o", database, "--", PYTHON, *through,
                      *arguments(entry), cwd=folder, env=environment(entry) | settings | extra | place)
    if done.returncode:
        raise Failed(f"{entry.name}, recorded: {done.stderr[-2000:]}")
    return kept(folder, backend)


def kept(folder, backend="caching"):
    """As record(), of what was recorded there before."""
    own = folder / "run.db"
    recorded = Recorded(own if own.exists() else complete(folder)[-1])  # that of a child
    return recorded, *(books(recorded, folder / "ledger") if backend == "caching" else (0, 0))


def keep(entry, probe, folder, observe=1):
    """As record(), unless it is in that folder already, under a name of all that it depends on but vtrace."""
    own = folder / f"{entry.name}-{key(entry)}-{probe}{'' if observe else '-unobserved'}"
    if not own.exists():
        unfinished = pathlib.Path(tempfile.mkdtemp(dir=folder))
        try:
            record(entry, probe, unfinished, observe=observe)
            unfinished.rename(own)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return kept(own)


def score(entry, probe, backend="caching"):
    """(scored case, difference of its books); the truth is that of the caching allocator's run."""
    truth = find_truth(entry)
    with tempfile.TemporaryDirectory() as folder:
        recorded, difference, _ = record(entry, probe, pathlib.Path(folder), backend)

        def blocks_at(when, device):
            done = vtrace("blocks", recorded.database, "--at", when, "--device", device, "--json")
            if done.returncode:
                raise Failed(f"{entry.name}, at {when}: {done.stderr}")
            return json.loads(done.stdout)["blocks"]

        return Case(entry.name, recorded, truth, blocks_at), difference
