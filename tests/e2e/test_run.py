# SPDX-License-Identifier: MIT
"""`vtrace run`: the program must not notice it, and what it recorded ends as the program did."""
import signal
import subprocess

import pytest

from recording import PYTHON, VTRACE, WORKLOADS, clean_environment, record, vtrace

HOLD = WORKLOADS / "hold_memory.py"


def run(directory, *arguments, text="", name="run.db"):
    return subprocess.run([VTRACE, "run", "--simulate", "h100-80g", "-o", directory / name, *arguments], cwd=directory,
                          env=clean_environment(), input=text, capture_output=True, text=True, timeout=120)


def ended(directory, name="run"):
    done = subprocess.run([VTRACE, "info", directory / name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return next(line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("ended"))


@pytest.mark.parametrize("code", (0, 1, 77, 255))
def test_the_exit_code_is_the_programs(code, tmp_path):
    done = run(tmp_path, "--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    assert list(tmp_path.iterdir()) == []


def test_input_output_and_arguments_pass_through(tmp_path):
    done = run(tmp_path, "--", "sh", "-c", 'cat; echo "$1" >&2', "sh", "-o  x", text="a\nb\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\nb\n", "-o  x\n")


@pytest.mark.parametrize("number", (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV))
def test_a_signal_is_128_more_and_in_the_database(number, tmp_path):
    done = run(tmp_path, "--", PYTHON, HOLD, text=f"alloc 3\nkill {int(number)}\n")
    assert done.returncode == 128 + number
    assert done.stderr.count("vtrace: ") == 2 and "run.db" in done.stderr
    assert ended(tmp_path) == f"signal {int(number)}"
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_a_program_that_skips_its_exit_handlers_has_its_exit_code_all_the_same(tmp_path):
    done = run(tmp_path, "--", PYTHON, HOLD, text="alloc 3\nquit 5\n")
    assert done.returncode == 5
    assert ended(tmp_path) == "exit 5"


def test_quiet_means_no_line_of_ours(tmp_path):
    done = run(tmp_path, "-q", "--", PYTHON, HOLD, text="alloc 3\nkill 9\n")
    assert (done.returncode, done.stderr) == (137, "")
    assert ended(tmp_path) == "signal 9"


def test_without_collector_the_next_command_imports(tmp_path):
    done = run(tmp_path, "--no-collect", "--", PYTHON, HOLD, text="alloc 3\nfree 1\n")
    assert done.returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["run.journal"]
    assert ended(tmp_path, "run.journal") == "exit 0"
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_force_replaces_what_is_there(tmp_path):
    (tmp_path / "run.db").write_text("old")
    done = run(tmp_path, "--force", "--", PYTHON, HOLD, text="alloc 3\n")
    assert done.returncode == 0, done.stderr
    assert ended(tmp_path) == "exit 0"


def test_a_signal_to_us_reaches_the_program(tmp_path):
    script = ("import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(9))\n"
              "print('ready', flush=True)\nwhile True: signal.pause()")
    process = subprocess.Popen([VTRACE, "run", "--", PYTHON, "-c", script], cwd=tmp_path, env=clean_environment(),
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 9


def test_what_was_preloaded_before_stays_behind_us(tmp_path):
    done = vtrace("run", "--simulate", "h100-80g", "--", "sh", "-c", "echo $LD_PRELOAD", cwd=tmp_path,
                  env={"LD_PRELOAD": "libm.so.6"})
    names = [path.rsplit("/", 1)[-1] for path in done.stdout.strip().split(":")]
    assert names == ["libvtrace.so", "libvtrace-simulator.so", "libm.so.6"]


def test_the_database_has_what_the_program_did(tmp_path):
    script = f"import io, sys; sys.stdin = io.StringIO('alloc 5\\nfree 2\\n'); exec(open({str(HOLD)!r}).read())"
    recording = record(tmp_path, PYTHON, "-c", script)
    assert recording.process.returncode == 0, recording.process.stderr
    assert recording.value("SELECT count(*) FROM allocation WHERE kind = 2") == 5
    assert recording.value("SELECT count(*) FROM allocation WHERE freed_event IS NOT NULL") == 2
