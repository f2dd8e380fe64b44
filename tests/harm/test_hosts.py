# SPDX-License-Identifier: MIT
"""Programs with sanitizers or under valgrind that are recorded (host.c), and the recorder with sanitizers in itself."""
import os
import re
import shutil
import subprocess

import pytest

from recording import BUILD, LIBRARY, PYTHON, SOURCE, TIMEOUT_S, clean_environment, vtrace
from victim import MOST_SAMPLES

HARM = BUILD / "tests/harm"
DRIVER = HARM / "driver"
SANITIZERS = os.environ.get("VTRACE_TEST_SANITIZE", "").split(",")
instrumented = pytest.mark.skipif(SANITIZERS == [""], reason="not a build with sanitizers")

# One context for the device; one thread makes the events.
CALLS = 2 * 4 * 1000

# Python's own frames, generators and threads that end.
THREADS = """
import ctypes, threading
driver = ctypes.CDLL("libcuda.so.1")
def take(depth):
    if depth:
        return take(depth - 1)
    pointer = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4096)) == 0
    return pointer
def work():
    for pointer in (take(i % 20) for i in range(100)):
        assert driver.cuMemFree_v2(pointer) == 0
for _ in range(20):
    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print(2 * 4 * 100 * 20)
"""


def runtime(name):
    """The compiler's shared library of a sanitizer."""
    found = subprocess.run([os.environ.get("CC", "gcc"), f"-print-file-name={name}"], check=True, capture_output=True,
                           text=True).stdout.strip()
    if "/" not in found:
        pytest.skip(f"no {name}")
    return found


def host(folder, preload, program=None, before=(), **extra):
    """What it said on stderr; every call is in the record."""
    environment = clean_environment({"LD_LIBRARY_PATH": str(DRIVER), "LD_PRELOAD": ":".join(map(str, preload)),
                                     "VTRACE_OUTPUT": str(folder / "run.db"), "VTRACE_COLLECT": "0", **extra})
    done = subprocess.run([*before, *(program or [HARM / "host", "4", "1000"])], env=environment, cwd=folder,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def check_all_recorded(done, calls=CALLS):
    assert int(done.stdout) == calls
    events, lost = re.search(r"vtrace: ([\d,]+) events, (\d+) lost", done.stderr).groups()
    # Samples of the memory in use are events.
    assert 0 < int(events.replace(",", "")) - calls <= MOST_SAMPLES and lost == "0"


@pytest.mark.parametrize("order", ["first", "told"])
def test_a_host_with_address_sanitizer(tmp_path, order):
    """Its library wants to be the first one, or to be told that it need not be."""
    program = [HARM / "host_address", "4", "1000"]
    if order == "first":
        done = host(tmp_path, [runtime("libasan.so"), LIBRARY], program)
    else:
        done = host(tmp_path, [LIBRARY], program, ASAN_OPTIONS="verify_asan_link_order=0")
    check_all_recorded(done)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr


def test_a_host_with_address_sanitizer_inside(tmp_path):
    check_all_recorded(host(tmp_path, [LIBRARY], [HARM / "host_static", "4", "1000"]))


def test_a_host_with_thread_sanitizer(tmp_path):
    done = host(tmp_path, [LIBRARY], [HARM / "host_thread", "4", "1000"])
    check_all_recorded(done)
    assert "Sanitizer" not in done.stderr


@pytest.mark.parametrize("name", ["address", "thread"])
def test_the_command_records_them(tmp_path, name):
    done = vtrace("run", "-o", "run.db", "--", HARM / f"host_{name}", "4", "1000", cwd=tmp_path,
                  env={"LD_LIBRARY_PATH": str(DRIVER), "ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert done.returncode == 0, done.stderr
    check_all_recorded(done)


def test_valgrind_finds_nothing(tmp_path):
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.skip("no valgrind")
    done = host(tmp_path, [LIBRARY], [HARM / "host", "2", "100"],
                [valgrind, "-q", "--error-exitcode=9", "--leak-check=full",
                 f"--suppressions={SOURCE}/preload/valgrind.supp"])
    check_all_recorded(done, 400)


@instrumented
def test_the_instrumented_recorder(tmp_path):
    """Sanitizers in the recorder itself: it is preloaded, so their library comes before it."""
    first = [runtime("lib%s.so" % {"address": "asan", "thread": "tsan"}[SANITIZERS[0]])]
    check_all_recorded(host(tmp_path, [*first, LIBRARY]))


@instrumented
def test_the_instrumented_recorder_reads_python(tmp_path):
    first = [runtime("lib%s.so" % {"address": "asan", "thread": "tsan"}[SANITIZERS[0]])]
    done = host(tmp_path, [*first, LIBRARY], [PYTHON, "-c", THREADS], ASAN_OPTIONS="detect_leaks=0")
    check_all_recorded(done, 2 * 4 * 100 * 20)


def test_a_host_of_another_c_library(tmp_path):
    """It runs as it does without the recorder, which cannot record it."""
    compiler = shutil.which("musl-gcc")
    if not compiler:
        pytest.skip("musl-gcc is not installed (apt: musl-tools)")
    program = tmp_path / "program"
    subprocess.run([compiler, "-o", program, SOURCE / "tests/harm/other_libc.c"], check=True)
    plain, preloaded = (subprocess.run([program], env=environment, cwd=tmp_path, capture_output=True, text=True,
                                       timeout=TIMEOUT_S)
                        for environment in (clean_environment(), clean_environment({"LD_PRELOAD": str(LIBRARY)})))
    assert plain.returncode == 7 and "strlen found" in plain.stdout and "child 5" in plain.stdout
    assert (preloaded.returncode, preloaded.stdout, preloaded.stderr) == (7, plain.stdout, plain.stderr)
    done = vtrace("run", "--", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, plain.stdout)
    assert "was not recorded: its dynamic loader is not glibc's" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["program"]
