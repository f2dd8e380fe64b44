# SPDX-License-Identifier: MIT
"""vtrace oom: why a request failed and what would have avoided it, each answer confirmed by running the program so."""
import json

import pytest

from recording import PYTHON, keep_first_inputs, record, record_python, vtrace

MIB = 1 << 20
GIB = 1 << 30
CARD = "h100-80g,memory=24GiB"
DRIVER_ONLY = ("import ctypes as c; d = c.CDLL('libcuda.so.1'); x = c.c_void_p(); d.cuInit(0); "
               "d.cuDevicePrimaryCtxRetain(c.byref(x), 0); d.cuCtxSetCurrent(x); "
               "d.cuMemAlloc_v2(c.byref(x), c.c_size_t(4096))")


def collect(directory, settings="", profile=CARD):
    return record_python(directory, "collect_features.py", profile=profile,
                         env={"PYTORCH_CUDA_ALLOC_CONF": settings})


def oom(recording):
    done = vtrace("oom", recording.database, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["out_of_memory"]


def remedy(told, setting):
    found, = [r for r in told["remedies"] if r["setting"].startswith(setting)]
    return found


def program(directory, text, **keywords):
    (directory / "program.py").write_text(text)
    return record(directory, PYTHON, directory / "program.py", **keywords)


def own_peak(recording):
    return int(recording.process.stdout.split(" peak ")[1].split()[0])


@pytest.fixture(scope="module")
def fragmented(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("fragmented"))


@pytest.fixture(scope="module")
def told(fragmented):
    return oom(fragmented)


def test_fragmentation_is_the_cause_with_gigabytes_free(fragmented, told):
    assert fragmented.process.returncode == 1
    assert told["cause"] == "fragmentation"
    free = told["cached_bytes"] + told["free"]["device_free_bytes"]
    assert free > 10 * GIB and free > told["requested_bytes"] == 8 * GIB
    assert told["free"]["device_free_bytes"] < told["requested_bytes"]
    text = vtrace("oom", fragmented.database).stdout
    assert "cause           fragmentation: 13.12 GiB are free" in text
    page = html_of(fragmented)
    assert "<p>Fragmentation: 13.12 GiB are free" in page and '<th scope="row"><code>expandable_segments' in page
    assert "succeeds; peak reserved" in text and "\n  settings: for this request only; the rest of the run" in text


def test_every_cached_byte_has_a_reason(told):
    reasons = ("too_small", "other_pool", "other_stream", "private_pool", "unsplittable", "awaited_stream")
    assert sum(told["free"][f"{reason}_bytes"] for reason in reasons) == told["cached_bytes"]
    assert told["free"]["largest_free_bytes"] < told["requested_bytes"]


def test_the_pinning_blocks_are_named(told):
    pin = told["pinned_by"][0]
    assert pin["owner"] == "user/features"
    assert pin["pinned_bytes"] > 0.99 * told["cached_bytes"]
    assert "collect_features.py:23 Encoder.forward" in pin["python"][0]


def test_expandable_segments_serve_it_and_the_rerun_confirms(told, tmp_path):
    foretold = remedy(told, "expandable_segments")
    assert told["replay_exact"] and foretold["serves"]
    rerun = collect(tmp_path, "expandable_segments:True")
    assert rerun.process.returncode == 0
    assert foretold["peak_reserved_bytes"] == pytest.approx(own_peak(rerun), rel=0.01)
    assert oom(rerun) is None


@pytest.mark.full
def test_a_split_limit_serves_it_and_the_rerun_confirms(told, tmp_path):
    foretold = remedy(told, "max_split_size_mb")
    assert foretold["serves"]
    rerun = collect(tmp_path, foretold["setting"])
    assert rerun.process.returncode == 0
    assert foretold["peak_reserved_bytes"] == pytest.approx(own_peak(rerun), rel=0.01)


@pytest.mark.full
@pytest.mark.parametrize("setting", ["garbage_collection_threshold:0.8,per_process_memory_fraction:0.99"])
def test_what_does_not_help_is_said_and_the_rerun_confirms(told, tmp_path, setting):
    assert not remedy(told, setting)["serves"]
    assert not remedy(told, "empty_cache")["serves"]
    assert collect(tmp_path, setting).process.returncode == 1


@pytest.mark.full
def test_a_setting_that_is_on_is_not_advised(tmp_path):
    failed = collect(tmp_path, "expandable_segments:True", "h100-80g,memory=17GiB")
    told = oom(failed)
    assert told["cause"] == "capacity"
    on = remedy(told, "expandable_segments")
    assert on["already_on"] and not on["serves"]
    text = vtrace("oom", failed.database).stdout
    assert "expandable_segments:True           already set" in text
    assert "whatif" not in text[text.index("\nnext: "):]


def test_the_next_thing_to_try_is_no_setting_that_is_on(fragmented):
    text = vtrace("oom", fragmented.database).stdout
    assert text.endswith(f"| vtrace whatif {fragmented.database} --expandable\n")


KEPT = "import torch\nkept = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(3)]\n"
FAILS = "torch.empty(64 << 30, dtype=torch.uint8, device='cuda')\n"
GOES_ON = (f"try:\n    {FAILS}except torch.cuda.OutOfMemoryError:\n"
           "    more = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\n")


@pytest.mark.parametrize("end, tables", [(FAILS, 1), (GOES_ON, 2)])
def test_owners_at_the_failure_are_listed_once(end, tables, tmp_path):
    """The peak is the failed request's moment; in a program that went on it is another one."""
    failed = program(tmp_path, KEPT + end, profile=CARD)
    text = vtrace("report", failed.database).stdout
    assert text.count("  known by\n") == tables
    assert ("owners: as at the failed request, above" in text) is (tables == 1)


def test_figures_of_one_table_have_one_unit(fragmented):
    text = vtrace("oom", fragmented.database).stdout
    table = text[text.index("FREE MEMORY"):text.index("\nPINNED BY")].splitlines()[1:]
    assert len(table) > 1 and {line[30:33] for line in table} == {"GiB"}


SHORT = """
import torch
kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(3)]
torch.empty(LEFT - (1 << 20), dtype=torch.uint8, device="cuda")
"""


def test_a_request_that_is_short_of_one_segment_s_rounding_is_no_fragmentation(tmp_path):
    """As many bytes are free as were asked for, but a segment takes whole pieces of 2 MiB."""
    probe = program(tmp_path, KEPT + "print(torch.cuda.mem_get_info()[0])", profile="h100-80g,memory=4095MiB")
    left = int(probe.process.stdout)
    assert left % (2 * MIB) == MIB
    probe.database.unlink()
    failed = program(tmp_path, SHORT.replace("LEFT", str(left + MIB)), profile="h100-80g,memory=4095MiB")
    told, text = oom(failed), vtrace("oom", failed.database).stdout
    assert told["requested_bytes"] == told["free"]["device_free_bytes"] == left
    assert told["cause"] == "capacity" and told["missing_bytes"] == MIB
    assert "fragmentation" not in text and "--expandable" not in text[text.index("\nnext: "):]


def test_the_program_s_own_line_comes_first(tmp_path):
    package = tmp_path / "site-packages" / "library"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import torch\n"
                                         "def take(n): return torch.empty(n << 30, dtype=torch.uint8, device='cuda')\n")
    failed = program(tmp_path, f"import sys; sys.path[:0] = ['{tmp_path}/site-packages']\nimport library\n"
                               "def mine(): library.take(90)\nmine()\n")
    told = oom(failed)
    assert "library" in told["python"][0] and told["own_line"].endswith("program.py:3 mine")
    text = vtrace("oom", failed.database).stdout.replace(f"{tmp_path}/", "")
    assert "\n  by              program.py:3 mine\n" in text


LIBRARY = """
import torch

def loss(x):
    return (x * x).sum()

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, gradient):
        return torch.empty_like(ctx.saved_tensors[0])

def own(x):
    return Own.apply(torch.cat([x, x]))
"""
BACKWARD = """
import sys
sys.path[:0] = ['FOLDER/site-packages']
import library
import torch

def step(mib):
    x = torch.zeros(mib << 18, device="cuda", requires_grad=True)
    library.CALL(x).backward()

step(64)
step(1024)
"""


@pytest.mark.parametrize("call, memory", [("loss", "3400MiB"), ("own", "4600MiB")])
def test_a_backward_reaches_the_program_s_own_line(tmp_path, call, memory):
    """The engine's thread has no Python stack, or one that begins in a library's own backward."""
    package = tmp_path / "site-packages" / "library"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY)
    failed = program(tmp_path, BACKWARD.replace("FOLDER", str(tmp_path)).replace("CALL", call),
                     profile=f"h100-80g,memory={memory}")
    told = oom(failed)
    assert told["stage"] == "backward"
    assert told["own_line"].endswith("backward of program.py:9 step")
    assert told["python"][-2:] == ["program.py:9 step", "program.py:12 <module>"]
    assert any(line.startswith("backward of library/__init__.py:") for line in told["python"])
    assert told["requested_for"] not in (None, "unknown")


def test_all_requests_that_failed_are_listed(tmp_path):
    failed = program(tmp_path, "import torch\n"
                               "def ask(gib):\n    return torch.empty(gib << 30, dtype=torch.uint8, device='cuda')\n"
                               "for gib in (40, 30, 30, 30, 25):\n"
                               "    try:\n        ask(gib)\n"
                               "    except torch.cuda.OutOfMemoryError:\n        pass\n", profile=CARD)
    failures = oom(failed)["failures"]
    assert [f["requested_bytes"] // GIB for f in failures] == [40, 30, 30, 30, 25]
    assert all("program.py:3 ask" in f["python"][0] for f in failures)
    text = vtrace("oom", failed.database).stdout
    rows = text[text.index("ALL 5 FAILED REQUESTS"):text.index("\nnext: ")].split("\n")[1:4]
    assert [row.split()[2] for row in rows] == ["40.00", "30.00", "25.00"]
    assert ["3 times in a row" in row for row in rows] == [False, True, False]
    assert f"event {failures[1]['event']} " in rows[1]


def test_the_report_opens_with_it(fragmented):
    text = vtrace("report", fragmented.database).stdout
    assert "WHAT WOULD HAVE AVOIDED IT" in text[:text.index("\nPEAK")]
    assert fragmented.report()["out_of_memory"]["remedies"] == oom(fragmented)["remedies"]


def test_what_does_not_fit_is_not_called_fragmentation(tmp_path):
    failed = record_python(tmp_path, "out_of_memory.py", "--uncaught", profile="h100-80g,memory=4GiB")
    told = oom(failed)
    assert told["cause"] == "capacity"
    assert not any(r["serves"] for r in told["remedies"])
    missing = told["missing_bytes"]
    assert 0 < missing <= 256 * MIB
    cause = f"with {missing / MIB:.2f} MiB more memory on the device it would have succeeded"
    assert cause in vtrace("oom", failed.database).stdout
    kept = [failed.value("SELECT count(*) FROM allocation WHERE kind = 1")]
    for more in (missing - 2 * MIB, missing):
        (tmp_path / str(more)).mkdir()
        rerun = record_python(tmp_path / str(more), "out_of_memory.py", "--uncaught",
                              profile=f"h100-80g,memory={4096 * MIB + more}")
        kept.append(rerun.value("SELECT count(*) FROM allocation WHERE kind = 1"))
    assert kept[1] == kept[0] and kept[2] == kept[0] + 1


def train(directory, batch):
    directory.mkdir(exist_ok=True)
    return record_python(directory, "transformers_step.py", "--batch", str(batch), profile="h100-80g,memory=3GiB")


@pytest.fixture(name="too_large", scope="module")
def fixture_too_large(tmp_path_factory):
    return oom(train(tmp_path_factory.mktemp("16"), 16))


def test_the_largest_batch_that_serves_it(too_large):
    smaller = too_large["smaller"]
    assert (smaller["batch"], smaller["length"]) == (16, 512)
    assert 1 < smaller["fits_batch"] < 16
    assert smaller["whole_step"] is False


def html_of(recording):
    page = recording.database.with_suffix(".html")
    done = vtrace("html", recording.database, "-o", page)
    assert done.returncode == 0, done.stderr
    return page.read_text()


CONVOLUTIONS = """
import sys, torch
from torch import nn
class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(a, b, 3, 1, 1), nn.BatchNorm2d(b)
    def forward(self, x):
        return torch.relu(self.norm(self.convolution(x)))
model = nn.Sequential(Block(3, 32), *(Block(32, 32) for _ in range(8))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.zeros(int(sys.argv[1]), 3, 128, 128).cuda()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_first_step_says_what_is_to_come(tmp_path):
    """The layers that did not run yet, and the batch above which no step fits; one more fails."""
    (tmp_path / "program.py").write_text(CONVOLUTIONS)

    def run(batch):
        command = (PYTHON, tmp_path / "program.py", batch)
        return record(tmp_path, *command, profile="h100-80g,memory=2078MiB", name=f"{batch}.db")

    failed = run(64)
    told = oom(failed)
    coming, layer = told["still_to_come"], 64 * 32 * 128 * 128 * 4
    assert told["smaller"]["batch"] == 64 and coming["layers"] == 9 and 0 < coming["layers_left"] < 8
    assert coming["layers_left_bytes"] >= coming["layers_left"] * 2 * layer
    assert coming["parameter_bytes"] == coming["gradient_bytes"] > 0
    bound = coming["no_batch_above"]
    assert 10 < bound < told["smaller"]["fits_batch"] < 64
    text = vtrace("oom", failed.database).stdout
    assert "REST OF THIS STEP" in text and f"\n  a whole step needs a batch of {bound} or less; " in text
    for page in text, html_of(failed):
        assert "succeeds for this request, but no whole step fits" in page
    assert oom(run(bound + 1)) and "OutOfMemoryError" not in run(bound * 3 // 4).process.stderr


EVALUATION = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
gathered = []
with torch.no_grad():
    while True:
        images = torch.zeros(8192, 512, device="cuda")
        result = model(images)
        gathered.append(result if KEEPS else result.cpu())
        if not KEEPS and len(gathered) == 8:
            torch.empty(8 << 30, dtype=torch.uint8, device="cuda")
"""


@pytest.mark.parametrize("keeps", [True, False])
def test_an_evaluation_says_what_each_batch_adds(tmp_path, keeps):
    failed = program(tmp_path, EVALUATION.replace("KEEPS", str(keeps)), profile="h100-80g,memory=1GiB")
    found, text = oom(failed), vtrace("oom", failed.database).stdout
    told, free = found["further_passes"], found["cached_bytes"] + found["free"]["device_free_bytes"]
    assert ("EACH FURTHER BATCH  adds 16.00 MiB" in text) is keeps
    assert (told and (told["each"], told["bytes"])) == (("batch", 16 * MIB) if keeps else None)
    assert not keeps or told["at_most_more"] == free // (16 * MIB)


DECODING = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_embd=512, n_layer=4, n_head=8, vocab_size=1000, n_positions=4096)).cuda().eval()
tokens, cache = torch.zeros(256, 4, dtype=torch.int64, device="cuda"), None
with torch.no_grad():
    while True:
        out = model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache, tokens = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
"""


def test_decoding_says_what_each_token_adds(tmp_path):
    """Keys and values of 256 rows, 4 layers, 512 numbers of 32 bits."""
    failed = program(tmp_path, DECODING, profile="h100-80g,memory=1GiB")
    told = oom(failed)["further_passes"]
    assert (told["each"], told["owner"]) == ("token", "kv cache")
    assert told["bytes"] == pytest.approx(256 * 4 * 2 * 512 * 4, rel=0.1)
    assert "EACH FURTHER TOKEN  adds " in vtrace("oom", failed.database).stdout
    assert "<h3>Each further token</h3>" in html_of(failed)


LATER = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(12))).to("cuda")
optimizer, kept = torch.optim.SGD(model.parameters(), lr=0.1), []
while True:
    model(torch.zeros(8192, 4, 1024).to("cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.empty(400 << 20, dtype=torch.uint8, device="cuda"))
"""


def test_a_batch_after_whole_steps_stands_for_the_step(tmp_path):
    failed = program(tmp_path, LATER, profile="h100-80g,memory=6GiB")
    smaller = oom(failed)["smaller"]
    assert smaller["batch"] == 8192 and smaller["whole_step"] is True
    assert "as all of the steps before" in vtrace("oom", failed.database).stdout


GROWING = """
import torch
model = torch.nn.Sequential(torch.nn.Embedding(1000, 512), *(torch.nn.Linear(512, 512) for _ in range(8))).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in (2, 4, 8, 16, 32, 64, 128, 256):
    tokens = torch.zeros(batch, 1024, dtype=torch.int64, device="cuda")
    model(tokens).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_batch_that_was_not_that_of_the_request_is_not_stated(tmp_path):
    """The probe sees the first batches; the one that fails is larger."""
    failed = program(tmp_path, GROWING, profile="h100-80g,memory=1GiB")
    keep_first_inputs(failed.database)
    told, text = oom(failed), vtrace("oom", failed.database).stdout
    assert told["smaller"] is None
    assert "inputs vary" in text and "instead of" not in text


@pytest.mark.full
def test_the_largest_batch_serves_it_and_one_more_does_not(too_large, tmp_path):
    told, fits = too_large, too_large["smaller"]["fits_batch"]
    fails = oom(train(tmp_path / "more", fits + 1))
    assert fails["requested_bytes"] == told["requested_bytes"] * (fits + 1) // 16
    assert fails["python"] == told["python"]
    rerun = train(tmp_path / "fits", fits)
    size = told["requested_bytes"] * fits // 16  # and up to 1 MiB that is not worth cutting off
    assert rerun.value("SELECT count(*) FROM allocation WHERE kind = 1 AND size_bytes BETWEEN ? AND ?",
                       size, size + MIB)


def test_a_limit_of_the_program_is_told_from_a_full_device(tmp_path):
    failed = program(tmp_path, "import torch\n"
                               "torch.cuda.set_per_process_memory_fraction(0.25)\n"
                               "kept = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(12)]\n",
                     profile=CARD)
    assert failed.process.returncode == 1
    assert oom(failed)["cause"] == "limit"


def test_what_another_stream_freed_does_not_serve(tmp_path):
    failed = program(tmp_path, "import torch\n"
                               "def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device='cuda')\n"
                               "side = torch.cuda.Stream()\n"
                               "with torch.cuda.stream(side):\n"
                               "    whole = take(3000)\n"
                               "    del whole\n"
                               "    pin = take(500)\n"
                               "    rest = take(2000)\n"
                               "    del rest\n"
                               "take(1000)\n",
                     profile="h100-80g,memory=4200MiB")
    told = oom(failed)
    assert told["cause"] == "fragmentation"
    assert told["free"]["other_stream_bytes"] == 2500 * MIB
    assert "other stream" in vtrace("oom", failed.database).stdout


@pytest.mark.parametrize("command, says", [
    (("import torch; torch.empty(9, device='cuda')",), "no failed request\n"),
    ((DRIVER_ONLY,), "failures are recorded only for PyTorch's allocator"),
    (("import os, torch; torch.empty(9, device='cuda'); os.kill(os.getpid(), 9)",), "before the program was killed"),
])
def test_a_run_without_a_failed_request_is_one_clear_line(tmp_path, command, says):
    recording = record(tmp_path, PYTHON, "-c", *command)
    done = vtrace("oom", recording.database)
    assert done.returncode == 0 and not done.stderr
    assert says in done.stdout and done.stdout.count("\n") == 1
    told = json.loads(vtrace("oom", recording.database, "--json").stdout)
    assert told["out_of_memory"] is None and told["note"] in done.stdout


def test_without_the_probe_no_smaller_batch_is_made_up(tmp_path):
    failed = record_python(tmp_path, "transformers_step.py", "--batch", "16", profile="h100-80g,memory=3GiB",
                           env={"VTRACE_PROBE": "0"})
    told = oom(failed)
    assert told["cause"] == "capacity" and told["smaller"] is None
    assert "batch" not in vtrace("oom", failed.database).stdout


def test_what_the_driver_places_and_refuses_is_no_request_of_pytorch_s_allocator(tmp_path):
    failed = record_python(tmp_path, "out_of_memory.py", "--uncaught", profile="h100-80g,memory=4GiB",
                           env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    assert failed.process.returncode == 1 and "OutOfMemoryError" in failed.process.stderr
    assert failed.query("SELECT 1 FROM out_of_memory") == []
    done = vtrace("oom", failed.database)
    assert done.returncode == 0 and not done.stderr
    assert "no failed request; failures are recorded only for PyTorch's allocator" in done.stdout


FIRST_FORWARD = """
import contextlib, torch
layers = [torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU()) for _ in range(2)]
model = torch.nn.Sequential(*layers).to("cuda")
with CALL():
    model(torch.zeros(65536, 512, device="cuda"))
"""


@pytest.mark.parametrize("call, is_kept", [("contextlib.nullcontext", True), ("torch.no_grad", False)])
def test_a_first_forward_that_fails_says_what_autograd_keeps(tmp_path, call, is_kept):
    """Nothing tells yet whether the program trains: both ways out are named, and no finding is made up."""
    recording = program(tmp_path, FIRST_FORWARD.replace("CALL", call), profile="h100-80g,memory=1400MiB")
    assert "OutOfMemoryError" in recording.process.stderr
    kept = oom(recording)["kept_for_backward_bytes"]
    text = vtrace("oom", recording.database).stdout
    assert ("finding:activations-kept" in text and "torch.no_grad()" in text) == is_kept
    assert kept == (512 * MIB if is_kept else 0)
    assert "activations-kept" not in {f["id"] for f in recording.report()["findings"]}


def test_wrong_usage(fragmented):
    assert vtrace("oom").returncode == 2
    assert vtrace("oom", fragmented.database, "--nonsense").returncode == 2
    assert vtrace("oom", "/nonexistent.db").returncode == 3


MODULES_OF_A_LIST = """
import torch
from torch import nn
layers = []
for i in range(8):
    layers += [nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
nn.Sequential(*layers).cuda()(torch.zeros(64, 64, 224, 224, device="cuda")).sum().backward()
"""


@pytest.mark.parametrize("memory_gib, module, owner", [("8.4", "BatchNorm2d", "activations/norm"),
                                                       ("8.8", "ReLU", "activations/conv")])
def test_modules_that_one_line_calls_are_told_apart(tmp_path, memory_gib, module, owner):
    """The last allocation of the line was another module's."""
    failed = program(tmp_path, MODULES_OF_A_LIST, profile=f"t4-16g,memory={memory_gib}GiB")
    told = oom(failed)
    assert (told["doing"], told["requested_for"]) == (module, owner)
