# SPDX-License-Identifier: MIT
"""The generator of stub libraries: what it makes is what the loader and the tools of the system accept."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from recording import BUILD, TIMEOUT_S, clean_environment

STUBS = BUILD / "simulator" / "vtrace-sim-stubs"


def make(*arguments, **env):
    return subprocess.run([str(STUBS), *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env=clean_environment(env))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import importlib.util
    torch = importlib.util.find_spec("torch").submodule_search_locations[0]
    out = tmp_path_factory.mktemp("stubs") / "out"
    done = make("--package", torch, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def names_in(path):
    return subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout


def test_every_needed_library_is_there(folder):
    listed = [line.split()[0] for line in (folder / "libraries").read_text().splitlines()]
    made = {p.name for p in folder.iterdir()} - {"libraries"}
    assert {"libcublas.so.13", "libcudnn.so.9", "libnccl.so.2"} <= made
    assert set(listed) - made == {"libcuda.so.1", "libcudart.so.13"}


def test_a_stub_loads_and_returns_zero(folder):
    library = ctypes.CDLL(str(folder / "libcublas.so.13"), mode=os.RTLD_NOW)
    library.cublasSgemm_v2.restype = ctypes.c_long
    assert library.cublasSgemm_v2(1, 2, 3) == 0


def test_symbols_carry_their_version_node(folder):
    assert " T cudnnCreate@@libcudnn.so.9\n" in names_in(folder / "libcudnn.so.9")
    assert " T ncclAllReduce\n" in names_in(folder / "libnccl.so.2")


def test_soname(folder):
    made = list(folder.glob("*.so*"))
    assert "libcublas.so.13" in {path.name for path in made}
    for path in made:
        dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        assert f"[{path.name}]" in dynamic


def test_a_linker_accepts_a_stub(folder, tmp_path):
    """The same file, read by somebody else's ELF reader."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no compiler")
    source = tmp_path / "client.c"
    source.write_text("int cublasSgemm_v2(void);\nint main(void) { return cublasSgemm_v2(); }\n")
    program = tmp_path / "client"
    subprocess.run([compiler, source, "-o", program, folder / "libcublas.so.13", f"-Wl,-rpath,{folder}"], check=True)
    assert "cublasSgemm_v2@libcublas.so.13" in names_in(program)
    assert subprocess.run([program]).returncode == 0


def test_cache_is_used_a_second_time(tmp_path):
    first = make("--python", sys.executable, VTRACE_CACHE=str(tmp_path))
    folder = pathlib.Path(first.stdout.strip())
    assert folder.parent == tmp_path and "torch 2." in first.stderr
    before = (folder / "libraries").stat().st_mtime_ns
    second = make("--python", sys.executable, VTRACE_CACHE=str(tmp_path))
    assert second.stdout == first.stdout and second.stderr == ""
    assert (folder / "libraries").stat().st_mtime_ns == before
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]


def test_two_at_once_make_one_folder(tmp_path):
    env = clean_environment({"VTRACE_CACHE": str(tmp_path)})
    both = [subprocess.Popen([str(STUBS), "--python", sys.executable], stdout=subprocess.PIPE, env=env, text=True)
            for _ in range(2)]
    answers = {process.communicate(timeout=TIMEOUT_S)[0] for process in both}
    assert len(answers) == 1 and all(process.returncode == 0 for process in both)
    assert len(list(tmp_path.iterdir())) == 1


def test_python_without_torch_gives_an_empty_line(tmp_path):
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\nexec {os.path.realpath(sys.executable)} -S -I \"$@\"\n")
    python.chmod(0o755)
    done = make("--python", python)
    assert (done.returncode, done.stdout) == (0, "\n")


@pytest.mark.parametrize("arguments", [[], ["--package", "x"], ["--python", "p", "--out", "x"], ["--wrong"]])
def test_wrong_usage(arguments):
    assert make(*arguments).returncode == 2


def test_a_folder_without_torch_is_refused(tmp_path):
    done = make("--package", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 3 and "no file here links a CUDA library" in done.stderr


def test_nothing_is_overwritten(folder):
    import importlib.util
    torch = importlib.util.find_spec("torch").submodule_search_locations[0]
    done = make("--package", torch, "--out", folder)
    assert done.returncode == 3 and "exists" in done.stderr


def test_an_interpreter_that_cannot_run():
    done = make("--python", "/nowhere/python3")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
