# SPDX-License-Identifier: MIT
"""The wheel: built, installed into a fresh environment, and used from there."""
import re
import subprocess
import sys
import zipfile

import pytest

from recording import PYTHON, SOURCE, TIMEOUT_S, WORKLOADS, clean_environment

pytestmark = pytest.mark.full
MOST_BYTES = 8 << 20


def run(*command, cwd=None, env=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env or clean_environment(), capture_output=True,
                          text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return run(SOURCE / "scripts" / "wheel", "-o", tmp_path_factory.mktemp("dist")).strip()


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "--no-index", wheel)
    return folder


def test_the_wheel_is_for_manylinux_and_small(wheel):
    assert re.search(r"/vtrace-[0-9.]+-py3-none-manylinux_2_28_x86_64\.whl$", wheel)
    with zipfile.ZipFile(wheel) as archive:
        assert sum(item.compress_size for item in archive.infolist()) <= MOST_BYTES
        names = archive.namelist()
    assert any(name.endswith("/share/man/man1/vtrace-run.1.gz") for name in names)
    assert any(name.endswith("/bash-completion/completions/vtrace") for name in names)


def test_no_variable_of_libc_with_two_names_is_copied(venv):
    """The sysroot does not know that they are one: the program would read a copy that libc never writes."""
    for program in ("bin/vtrace", "lib/vtrace/simulator/vtrace-sim-stubs"):
        path, = venv.glob(f"lib/python3*/site-packages/vtrace/{program}")
        rows = run("readelf", "-rW", path).splitlines()
        copied = {line.split()[4].partition("@")[0] for line in rows if "_COPY" in line}
        assert copied <= {"stdin", "stdout", "stderr", "optarg", "optind", "opterr", "optopt"}


def test_the_command_from_a_fresh_environment_records_and_reports(venv, tmp_path):
    vtrace = venv / "bin" / "vtrace"
    assert run(vtrace, "--version").startswith("vtrace ")
    assert run(venv / "bin" / "python", "-m", "vtrace", "--version") == run(vtrace, "--version")
    assert run(vtrace, "path").strip().endswith("/site-packages/vtrace/lib/vtrace/libvtrace.so")
    run(vtrace, "run", "--simulate", "h100-80g", "-o", tmp_path / "run.db", "--", PYTHON, WORKLOADS / "train_gpt.py",
        cwd=tmp_path)
    report = run(vtrace, "report", tmp_path / "run.db")
    assert "optimizer" in report and "unaccounted 0.00 GiB" in report
    assert run(vtrace, "html", tmp_path / "run.db", "-o", tmp_path / "page.html") is not None
    assert (tmp_path / "page.html").stat().st_size > 10000


def test_the_library_alone_starts_the_collector_of_the_wheel(venv, tmp_path):
    """By LD_PRELOAD, without `vtrace run`, in a program that allocates nothing: it must not be noticed."""
    library = run(venv / "bin" / "vtrace", "path").strip()
    env = clean_environment({"LD_PRELOAD": library})
    assert run(PYTHON, "-c", "print(1)", cwd=tmp_path, env=env) == "1\n"
    assert list(tmp_path.iterdir()) == []


def test_the_pytest_plugin_is_in_it(venv):
    names = run(venv / "bin" / "python", "-c", "from importlib.metadata import entry_points, requires\n"
                "print([e.value for e in entry_points(group='pytest11')], requires('vtrace'))")
    assert "pytest_vtrace.plugin" in names and "extra == 'pytest'" in names.replace('"', "'")
