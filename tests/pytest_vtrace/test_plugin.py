# SPDX-License-Identifier: MIT
"""pytest-vtrace: what its marks make of tests that keep to their limits, break them, leak, crash, run out of memory."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from recording import BUILD, SOURCE, clean_environment

pytest_plugins = ["pytester"]

# The driver without a framework: quick, and to the byte.
GPU = """
import ctypes

class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0

    def allocate(self, mib):
        pointer = ctypes.c_uint64()
        if self.cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(mib << 20)):
            raise MemoryError("out of memory")
        return pointer

    def free(self, pointer):
        assert self.cuda.cuMemFree_v2(pointer) == 0
"""
CONFTEST = """
import pytest, gpu as library

def pytest_addoption(parser):
    parser.addoption("--size", type=int, default=64)

@pytest.fixture
def gpu():
    return library.Gpu()

@pytest.fixture
def size(request):
    return request.config.getoption("size")
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder of tests, and how to run them: with the plugin of the source tree and vtrace of the build."""
    for name in [n for n in os.environ if n.startswith(("VTRACE", "PYTEST_", "LD_PRELOAD"))]:
        if name != "VTRACE_CACHE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{BUILD}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE / "pytest-vtrace"))
    pytester.makepyfile(gpu=GPU)
    pytester.makeconftest(CONFTEST)

    def run(source, *options, simulate="h100-80g"):
        pytester.makepyfile(test_it=source)
        simulated = ["--vtrace-simulate", simulate] if simulate else []
        return pytester.runpytest_subprocess("-p", "pytest_vtrace.plugin", *simulated, *options)
    return run


def text_of(result):
    return result.stdout.str() + result.stderr.str()


LIMITS = """
import pytest

@pytest.mark.gpu_memory("64 MiB")
def test_keeps_to_it(gpu, size):
    gpu.free(gpu.allocate(size))

@pytest.mark.gpu_memory(limit="63 MiB")
def test_breaks_it(gpu, size):
    gpu.free(gpu.allocate(size))

@pytest.mark.gpu_leaks("1 MiB")
def test_leaves_nothing(gpu):
    gpu.free(gpu.allocate(200))

@pytest.mark.gpu_leaks("1 MiB")
def test_leaves_something(gpu):
    gpu.allocate(3)

@pytest.mark.parametrize("mib", [1, 3], ids=["a::b/c[1]", "\\u00fc three"])
@pytest.mark.gpu_memory("2 MiB")
def test_named(gpu, mib):
    gpu.free(gpu.allocate(mib))

def test_without_a_mark():
    import os
    assert "VTRACE_SIM_PROFILE" not in os.environ
"""


@pytest.mark.parametrize("workers", ((), ("-n2",)), ids=("one process", "xdist"))
def test_limits(project, workers):
    if workers:
        pytest.importorskip("xdist")
    result = project(LIMITS, *workers)
    result.assert_outcomes(passed=4, failed=3)
    text = text_of(result)
    assert re.search(r"total.allocated: 64.00 MiB on cuda:0, limit 63.00 MiB \(exceeded by 1.00 MiB\)\n"
                     r"  64.00 MiB .*, 1 block\n      gpu.py:13 Gpu.allocate\n      test_it.py:9 test_breaks_it\n"
                     r"recording: \S+run.db", text), text
    assert "left.total: 3.00 MiB on cuda:0, limit 1.00 MiB" in text
    assert "test_it.py:17 test_leaves_something" in text
    assert re.search(r"FAILED test_it.py::test_named\[.* three\]", text)
    # The recording of a failure is kept for the next question.
    kept = re.search(r"recording: (\S+run.db)", text).group(1)
    done = subprocess.run([BUILD / "vtrace", "report", kept], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0 and "PEAK" in done.stdout


def test_options_of_the_project_reach_the_test(project):
    project(LIMITS, "-k", "keeps_to_it", "--size", "65").assert_outcomes(failed=1, deselected=6)


CRASHES = """
import os, signal, pytest

@pytest.mark.gpu_memory("1 GiB")
def test_is_killed(gpu):
    gpu.allocate(5)
    print("the last words", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)

@pytest.mark.gpu_memory("1 GiB")
def test_exits(gpu):
    os._exit(3)

@pytest.mark.gpu_memory("1000 GiB")
def test_runs_out(gpu):
    gpu.allocate(100 * 1024)

@pytest.mark.gpu_memory("1 MiB")
def test_fails_by_itself(gpu):
    gpu.allocate(5)
    assert 1 == 2

@pytest.mark.gpu_memory("1 MiB")
def test_is_skipped():
    pytest.skip("today")

@pytest.mark.xfail(strict=True)
@pytest.mark.gpu_memory("1 MiB")
def test_is_expected_to_fail():
    assert 0

@pytest.mark.gpu_memory("1 MiB")
def test_forks(gpu):
    # What a child does is its own.
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    gpu.free(gpu.allocate(1))

@pytest.mark.gpu_memory("1 MiB")
def test_after_all(gpu):
    gpu.free(gpu.allocate(1))
"""


def test_a_test_that_crashes_takes_nothing_along(project):
    result = project(CRASHES)
    result.assert_outcomes(passed=2, failed=4, skipped=1, xfailed=1)
    text = text_of(result)
    assert "the test's process was killed by SIGSEGV" in text and "the test's process ended with exit code 3" in text
    assert "MemoryError: out of memory" in text and "assert 1 == 2" in text
    # A test that failed by itself is not held against its limits, and has no out-of-memory to explain.
    assert "exceeded by" not in text and "no failed request" not in text


SKIPS = """
import pytest

@pytest.mark.gpu_memory("1 MiB")
def test_is_skipped():
    pytest.skip("today")

@pytest.mark.gpu_memory("64 MiB")
def test_large(gpu):
    gpu.free(gpu.allocate(64))

@pytest.mark.gpu_memory("64 MiB")
def test_small(gpu):
    gpu.free(gpu.allocate(3))
"""


@pytest.mark.parametrize("workers", ((), ("-n2",)), ids=("one process", "xdist"))
def test_a_skip_is_summed_up_and_most_memory_listed(project, workers):
    """-ra folds skips by place and reason, which are a tuple."""
    if workers:
        pytest.importorskip("xdist")
    result = project(SKIPS, "-ra", "--vtrace-top", "2", *workers)
    result.assert_outcomes(passed=2, skipped=1)
    text = text_of(result)
    assert "INTERNALERROR" not in text and "SKIPPED [1] test_it.py:5: today" in text
    result.stdout.re_match_lines([".* most GPU memory allocated by 2 of 3 marked tests .*",
                                  " +64.00 MiB  test_it.py::test_large", " +3.00 MiB  test_it.py::test_small"])


UPDATE = """
import pytest

@pytest.mark.gpu_memory("+10%")
@pytest.mark.gpu_leaks("+0")
def test_one(gpu, size):
    gpu.free(gpu.allocate(size))

@pytest.mark.gpu_memory("+10%")
def test_two(gpu):
    gpu.free(gpu.allocate(10))
"""


@pytest.mark.parametrize("workers", ((), ("-n2",)), ids=("one process", "xdist"))
def test_baselines(project, pytester, workers):
    if workers:
        pytest.importorskip("xdist")
    first = project(UPDATE, *workers)
    first.assert_outcomes(failed=2)
    said = [line for line in text_of(first).splitlines()
            if "baseline" in line and line.startswith((" ", "total", "left"))]
    assert sorted(said) == ["total.allocated, left.total: no baseline: run the test once with --vtrace-update",
                            "total.allocated: no baseline: run the test once with --vtrace-update"]
    result = project(UPDATE, "--vtrace-update", *workers)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines("vtrace: test_it.vtrace.json: 2 baselines")
    path = pytester.path / "test_it.vtrace.json"
    assert json.loads(path.read_text())["tests"] == {
        "test_one": {"total.allocated": 64 << 20, "left.total": 0}, "test_two": {"total.allocated": 10 << 20}}
    project(UPDATE, "--size", "70", *workers).assert_outcomes(passed=2)
    grown = project(UPDATE, "--size", "71", *workers)
    grown.assert_outcomes(passed=1, failed=1)
    assert "71.00 MiB on cuda:0, limit 70.40 MiB (exceeded by 614.40 KiB) (baseline 64.00 MiB)" in text_of(grown)
    # One test's new figure leaves the other's.
    project(UPDATE, "--size", "71", "-k", "test_one", "--vtrace-update").assert_outcomes(passed=1, deselected=1)
    assert [f["total.allocated"] >> 20 for f in json.loads(path.read_text())["tests"].values()] == [71, 10]


@pytest.mark.parametrize("mark,words", (
    ("gpu_memory()", "gpu_memory needs a limit"), ('gpu_memory("1 parsec")', '"1 parsec" is not an amount'),
    ('gpu_memory("ten")', 'gpu_memory("ten"): not an amount'),
    ('gpu_memory("1 GiB", what="used")', "allocated, reserved, device_used"),
    ('gpu_memory("1 GiB", of="x")', "unexpected keyword argument 'of'")))
def test_marks_that_mean_nothing_are_errors(project, mark, words):
    result = project(f"import pytest\n@pytest.mark.{mark}\ndef test_it(gpu): gpu.allocate(1)\n")
    result.assert_outcomes(errors=1)
    assert words in text_of(result)


def test_an_owner_that_is_none(project):
    """Known once there is a recording."""
    mark = 'gpu_memory("1 GiB", owner="activatons")'
    result = project(f"import pytest\n@pytest.mark.{mark}\ndef test_it(gpu): gpu.allocate(1)\n")
    result.assert_outcomes(failed=1)
    assert "unknown owner" in text_of(result)


@pytest.mark.parametrize("mark", ('gpu_memory("5 parsecs")', 'gpu_leaks("5%")'))
def test_marks_are_read_before_the_test_runs(project, pytester, mark):
    result = project(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): open('ran', 'w').close()\n")
    result.assert_outcomes(errors=1)
    text = text_of(result)
    assert '"' + mark.split('"')[1] + '"' in text and "used no GPU" not in text and "memory.toml" not in text
    assert not (pytester.path / "ran").exists()


KEPT = """
import pytest

@pytest.mark.gpu_memory("64 MiB")
def test_it(gpu):
    gpu.free(gpu.allocate(64))
"""


@pytest.mark.parametrize("folder, real", (("../kept", "../kept"), ("some/../kept", "kept"), ("link/kept", "some/kept")))
def test_the_folder_may_be_any_path(project, pytester, folder, real):
    pytester.mkdir("some")
    (pytester.path / "link").symlink_to("some")
    project(KEPT, "--vtrace-dir", folder).assert_outcomes(passed=1)
    kept = (pytester.path / real).resolve()
    assert len(list(kept.glob("*/run.db"))) == 1
    shutil.rmtree(kept)


@pytest.mark.parametrize("folder, words", (("/proc/foo", ""), ("test_it.py", "File exists")))
def test_a_folder_that_cannot_be_made(project, folder, words):
    """One usage error at the start."""
    result = project(KEPT, "--vtrace-dir", folder)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = text_of(result)
    assert text.count(f"--vtrace-dir {folder}: ") == 1 and words in text
    assert "Traceback" not in text and "INTERNALERROR" not in text


def test_a_test_that_used_no_memory_was_not_measured(project):
    result = project('import pytest\n@pytest.mark.gpu_memory("1 GiB")\ndef test_it(): pass\n')
    result.assert_outcomes(failed=1)
    assert "the test used no GPU" in text_of(result) and "recording:" not in text_of(result)


def test_without_vtrace_one_line_says_so(project, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = project(LIMITS, "-k", "keeps_to_it or without_a_mark")
    result.assert_outcomes(passed=1, failed=1, deselected=5)
    assert "pytest-vtrace: vtrace: command not found" in text_of(result)
    assert "Traceback" not in text_of(result)


def test_a_profile_that_is_none(project):
    """One usage error at the start, with what there is."""
    result = project(LIMITS, simulate="h1000")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = text_of(result)
    assert text.count("h1000: unknown card") == 1 and "h100-80g" in text and "Traceback" not in text


NET = """
import torch

class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))

def train(rows):
    model = Mlp().to("cuda")
    model(torch.ones(rows, 256, device="cuda")).sum().backward()
"""
# PyTorch is imported in the recorded process alone: here its NVIDIA libraries are the simulator's.
TORCH = """
import pytest

kept = []

@pytest.mark.gpu_memory("40 MiB", owner="activations")
@pytest.mark.gpu_leaks("1 MiB")
def test_small():
    import net
    net.train(1024)

@pytest.mark.gpu_memory("12 MiB", owner="activations")
def test_large():
    import net
    net.train(4096)

@pytest.mark.gpu_leaks("1 MiB")
def test_leak():
    import torch
    kept.append(torch.ones(4, 1 << 20, device="cuda"))

@pytest.mark.gpu_memory("1000 GiB")
def test_out_of_memory():
    import torch
    torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
"""


def test_pytorch(project, pytester):
    pytester.makepyfile(net=NET)
    result = project(TORCH)
    result.assert_outcomes(passed=1, failed=3)
    text = text_of(result)
    assert "owners.activations: " in text and "activations/mlp" in text
    assert re.search(r"left.total: 16.00 MiB .*\n  16.00 MiB .*, 1 block\n      test_it.py:19 test_leak\n", text), text
    # The explanation of vtrace oom, as a section of the report.
    assert "OutOfMemoryError" in text and "vtrace oom" in text and "200.00 GiB" in text


AT_THE_TOP = """
import pytest
import torch

@pytest.mark.gpu_memory("64 MiB")
def test_on_the_device():
    assert torch.cuda.is_available()
    torch.ones(16 << 20, dtype=torch.uint8, device="cuda")

def test_without_a_mark():
    assert not torch.cuda.is_available()
"""


def test_pytorch_may_be_imported_at_the_top(project):
    """The session imports the file, too: outside of the simulator."""
    project(AT_THE_TOP).assert_outcomes(passed=2)


@pytest.mark.full
def test_it_installs(pytester, monkeypatch):
    """As pip does it, into an environment of its own, without -p."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    subprocess.run([sys.executable, "-m", "venv", "venv"], check=True)
    # A copy: building leaves files in the source.
    subprocess.run(["cp", "-r", SOURCE / "pytest-vtrace", "source"], check=True)
    subprocess.run(["venv/bin/python", "-m", "pip", "install", "-q", "./source"], check=True)
    pytester.makepyfile(gpu=GPU, test_it=LIMITS)
    pytester.makeconftest(CONFTEST)
    done = subprocess.run(["venv/bin/python", "-m", "pytest", "--vtrace-command", BUILD / "vtrace", "--vtrace-simulate",
                           "h100-80g", "test_it.py"], capture_output=True, text=True, env=clean_environment())
    assert "3 failed, 4 passed" in done.stdout, done.stdout + done.stderr
