# SPDX-License-Identifier: MIT
"""`vtrace run`: the program must not notice it, and what it recorded ends as the program did."""
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest

from recording import BUILD, PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, record, vtrace

NOTHING = "vtrace: no GPU memory was allocated; nothing was recorded"
HAS_GPU = any(pathlib.Path("/dev", name).exists() for name in ("nvidiactl", "nvidia0", "dxg"))
HOLD = WORKLOADS / "hold_memory.py"


def run(directory, *arguments, text="", name="run.db"):
    return subprocess.run([VTRACE, "run", "--simulate", "h100-80g", "-o", directory / name, *arguments], cwd=directory,
                          env=clean_environment(), input=text, capture_output=True, text=True, timeout=TIMEOUT_S)


def ended(directory, name="run"):
    done = subprocess.run([VTRACE, "info", directory / name], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return next(line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("ended"))


@pytest.mark.parametrize("code", (0, 1, 77, 255))
def test_the_exit_code_is_the_programs(code, tmp_path):
    done = run(tmp_path, "--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", NOTHING + "\n")
    assert list(tmp_path.iterdir()) == []


def test_input_output_and_arguments_pass_through(tmp_path):
    done = run(tmp_path, "--", "sh", "-c", 'cat; echo "$1" >&2', "sh", "-o  x", text="a\nb\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\nb\n", f"-o  x\n{NOTHING}\n")


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


def run_limited(directory, most_bytes, *command, text=""):
    """Under a limit of the size of files. Python ignores SIGXFSZ, but not in what it starts (`restore_signals`)."""
    return subprocess.run(["sh", "-c", f'ulimit -f {most_bytes // 512} && exec "$@"', "sh", VTRACE, "run", "--simulate",
                           "h100-80g", "-o", directory / "run.db", "--", *command], cwd=directory,
                          env=clean_environment(), input=text, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.mark.parametrize("most_bytes", (4096, 2**20))
def test_a_limit_of_the_size_of_files_takes_no_exit_code(most_bytes, tmp_path):
    done = run_limited(tmp_path, most_bytes, "sh", "-c", "exit 7")
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    done = run_limited(tmp_path, most_bytes, PYTHON, HOLD, text="alloc 3\nquit 5\n")
    assert done.returncode == 5 and done.stdout == "done\n", done.stderr


def test_a_program_meets_its_limit_of_the_size_of_files_as_without_us(tmp_path):
    done = run_limited(tmp_path, 4096, "sh", "-c", "head -c 10000 /dev/zero > too-large")
    assert done.returncode == 128 + signal.SIGXFSZ, done.stderr


def test_a_variable_means_the_same_to_the_recorder_and_to_run(tmp_path):
    recording = record(tmp_path, PYTHON, WORKLOADS / "driver_client.py", env={"VTRACE_COLLECT": "00"})
    assert recording.process.returncode == 0, recording.process.stderr
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("run.")] == ["run.journal"]


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


def allocations(directory):
    done = vtrace("info", "--json", directory / "run")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["counts"]["allocations"]


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_the_closing_line_of_a_killed_program_has_the_reports_peak(tmp_path):
    """The program cannot say it, so we do, in the recorder's words."""
    said = [run(tmp_path, "--", PYTHON, HOLD, text="alloc 700\n" + end, name=name).stderr
            for end, name in (("kill 9\n", "killed.db"), ("", "normal.db"))]
    assert said[0].replace("killed", "normal") == said[1]
    # 700 allocations, and samples of the memory in use.
    match = re.match(r"vtrace: 7[0-9][0-9] events, 0 lost; peak ([0-9.]+ GiB) on cuda:0; killed\.db\n"
                     r"vtrace: next: vtrace report killed\.db \| vtrace html killed\.db\n$", said[0])
    assert match, said[0]
    assert f"\nPEAK  {match[1]} of " in vtrace("report", tmp_path / "killed.db").stdout


@pytest.fixture
def recorded(tmp_path):
    """A folder with a recording of three allocations, run.db."""
    done = run(tmp_path, "--", PYTHON, HOLD, text="alloc 3\n")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_type_of_a_fact_depends_on_its_key(recorded):
    with sqlite3.connect(recorded / "run.db") as db:
        db.execute("UPDATE run SET value = '0123' WHERE key = 'hostname'")
        db.execute("UPDATE run SET value = '12' WHERE key = 'cwd'")
        db.execute("UPDATE run SET value = CAST(x'2fff' AS TEXT) WHERE key = 'executable'")
    done = vtrace("info", "--json", recorded / "run.db")
    facts = json.loads(done.stdout)["run"]
    assert (facts["hostname"], facts["cwd"], facts["executable"]) == ("0123", "12", "/?")
    assert isinstance(facts["pid"], int) and isinstance(facts["events"], int)


def test_force_replaces_a_recording(recorded):
    done = run(recorded, "--force", "--", PYTHON, HOLD, text="alloc 5\n")
    assert done.returncode == 0, done.stderr
    assert allocations(recorded) == 5
    assert names(recorded) == ["run.db"]


def test_force_replaces_a_journal(tmp_path):
    run(tmp_path, "--no-collect", "--", PYTHON, HOLD, text="alloc 3\n")
    done = run(tmp_path, "--force", "--", PYTHON, HOLD, text="alloc 5\n")
    assert done.returncode == 0, done.stderr
    assert allocations(tmp_path) == 5
    assert names(tmp_path) == ["run.db"]


def test_force_keeps_the_old_recording_until_there_is_a_new_one(recorded):
    (recorded / "run.db-wal").touch()
    before = (recorded / "run.db").read_bytes()
    done = run(recorded, "--force", "--", "sh", "-c", "ls; exit 4")
    assert (done.returncode, done.stderr) == (4, NOTHING + "\n")
    aside = done.stdout.split()
    assert len(aside) == 2 and all(name.startswith("run.db.old-") for name in aside)
    assert aside[1] == aside[0] + "-wal"
    assert names(recorded) == ["run.db", "run.db-wal"]
    assert (recorded / "run.db").read_bytes() == before


def test_force_destroys_nothing_that_was_set_aside_under_the_same_process_id(recorded):
    before = (recorded / "run.db").read_bytes()
    for number in ("", "-1"):
        script = (f'echo precious > run.db.old-$${number}; echo run.db.old-$${number};'
                  f' exec "{VTRACE}" run --force -q -o run.db -- true')
        done = subprocess.run(["sh", "-c", script], cwd=recorded, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        assert (recorded / done.stdout.strip()).read_text() == "precious\n"
        assert (recorded / "run.db").read_bytes() == before


@pytest.mark.parametrize("wrong", (("--simulate", "h1000", "--", "true"), ("--", "no-such-command"),
                                   ("--", "/dev/null")))
def test_force_leaves_all_as_it_is_where_no_program_starts(wrong, recorded):
    before = (recorded / "run.db").read_bytes()
    assert run(recorded, "--force", *wrong).returncode == (2 if "h1000" in wrong else 3)
    assert names(recorded) == ["run.db"]
    assert (recorded / "run.db").read_bytes() == before


def test_force_does_not_touch_a_recording_that_goes_on(tmp_path):
    process = subprocess.Popen([VTRACE, "run", "--simulate", "h100-80g", "-q", "-o", tmp_path / "run.db", "--", PYTHON,
                                HOLD], cwd=tmp_path, env=clean_environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    process.stdin.write("alloc 3\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    done = run(tmp_path, "--force", "--", "true")
    process.communicate("alloc 2\n", timeout=TIMEOUT_S)
    assert done.returncode == 3
    assert re.fullmatch(r"vtrace: \S+run\.journal: a recording is in progress; --force does not overwrite it\n",
                        done.stderr)
    assert allocations(tmp_path) == 5
    assert names(tmp_path) == ["run.db"]


@pytest.mark.parametrize("options", ((), ("--force",)))
@pytest.mark.parametrize("name, reason", (("folder", "is a directory"), ("text", "not a vtrace database")))
def test_force_is_no_cure_for_what_is_no_recording(name, reason, options, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("mine")
    done = run(tmp_path, *options, "--", "true", name=name)
    said = reason if options else f"{reason}; --force only overwrites recordings"
    assert (done.returncode, done.stderr) == (3, f"vtrace: {tmp_path}/{name}: {said}\n")
    assert (tmp_path / "text").read_text() == "mine" and not list((tmp_path / "folder").iterdir())


def test_nothing_recorded_is_said_and_how_to_do_without_a_gpu(tmp_path):
    hint = "" if HAS_GPU else " (no GPU? try vtrace run --simulate h100-80g -- ...)"
    assert vtrace("run", "--", "true", cwd=tmp_path).stderr == NOTHING + hint + "\n"
    assert vtrace("run", "-q", "--", "true", cwd=tmp_path).stderr == ""
    assert vtrace("run", "--", "true", cwd=tmp_path, env={"VTRACE_QUIET": "1"}).stderr == ""


@pytest.mark.parametrize("number, hint", ((signal.SIGKILL, " (is there enough host memory?)"), (signal.SIGTERM, "")))
def test_a_signal_before_anything_was_recorded_is_named(number, hint, tmp_path):
    done = run(tmp_path, "--", "sh", "-c", f"kill -{int(number)} $$")
    assert (done.returncode, done.stderr) == (128 + number, f"vtrace: the program was killed by signal {int(number)}"
                                              f" before it allocated GPU memory; nothing was recorded{hint}\n")


@pytest.mark.parametrize("output", ((), ("-o", "run.db"), ("-o", "%e.db")))
def test_a_recording_of_a_programs_child_is_something(output, tmp_path):
    """In another folder, too: what a program does by itself, `cd` among it, is not ours to know."""
    (tmp_path / "below").mkdir()
    done = subprocess.run([VTRACE, "run", "--simulate", "h100-80g", *output, "--", "sh", "-c",
                           'cd below; "$@"; exit 3', "sh", PYTHON, HOLD], cwd=tmp_path, env=clean_environment(),
                          input="alloc 3\n", capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 3
    assert "events, 0 lost; peak" in done.stderr and NOTHING not in done.stderr
    assert len(list(tmp_path.glob("*.db"))) == 1 and names(tmp_path / "below") == []


@pytest.mark.parametrize("output, expected", (("run.db", ["run-2.db", "run-3.db", "run.db"]),
                                              ("%q{SLASHED}.db", ["a_b-2.db", "a_b-3.db", "a_b.db"]),
                                              ("run%n.db", ["run1.db", "run2.db", "run3.db"])))
def test_every_process_has_a_database_of_its_own(output, expected, tmp_path):
    hold = f"echo alloc 1 | {PYTHON} {HOLD};"
    done = vtrace("run", "--simulate", "h100-80g", "-o", output, "--", "sh", "-c", 3 * hold, cwd=tmp_path,
                  env={"SLASHED": "a/b"})
    assert done.returncode == 0, done.stderr
    # Collectors of a program's children may be at work yet.
    assert sorted(path.name for path in tmp_path.glob("*.db")) == expected


@pytest.mark.parametrize("wrong", (("-o", "--", "true"), ("--output", "--", "true"), ("--simulate", "--", "true"),
                                   ("--exit-wait", "abc", "--", "true"), ("--exit-wait", "-1", "--", "true"),
                                   ("--exit-wait", "3601", "--", "true"), ("--probe", "3", "--", "true"),
                                   ("--stacks", "513", "--", "true")))
def test_a_wrong_argument_is_wrong_usage(wrong, tmp_path):
    done = vtrace("run", *wrong, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "vtrace run: " in done.stderr
    assert names(tmp_path) == []


@pytest.mark.parametrize("output", ("%z.db", "a%", "%q{HOME.db/%q", "100%.db"))
def test_an_unknown_pattern_is_wrong_usage(output, tmp_path):
    done = vtrace("run", "-o", output, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{output}: unknown placeholder %" in done.stderr
    assert names(tmp_path) == []


def test_a_wait_that_is_no_number_is_the_usual_one(tmp_path):
    done = subprocess.run([VTRACE, "run", "--simulate", "h100-80g", "-o", "run.db", "--", PYTHON, HOLD], cwd=tmp_path,
                          env=clean_environment({"VTRACE_EXIT_WAIT": "abc"}), input="alloc 3\nkill 9\n",
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, names(tmp_path)) == (137, ["run.db"])


def test_a_signal_to_us_reaches_the_program(tmp_path):
    script = ("import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(9))\n"
              "print('ready', flush=True)\nwhile True: signal.pause()")
    process = subprocess.Popen([VTRACE, "run", "--", PYTHON, "-c", script], cwd=tmp_path, env=clean_environment(),
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 9


def test_what_was_preloaded_before_stays_behind_us(tmp_path):
    done = vtrace("run", "--simulate", "h100-80g", "--", "sh", "-c", "echo $LD_PRELOAD", cwd=tmp_path,
                  env={"LD_PRELOAD": "libm.so.6"})
    preloaded = [path.rsplit("/", 1)[-1] for path in done.stdout.strip().split(":")]
    assert preloaded == ["libvtrace.so", "libvtrace-simulator.so", "libm.so.6"]


def test_the_database_has_what_the_program_did(tmp_path):
    script = f"import io, sys; sys.stdin = io.StringIO('alloc 5\\nfree 2\\n'); exec(open({str(HOLD)!r}).read())"
    recording = record(tmp_path, PYTHON, "-c", script)
    assert recording.process.returncode == 0, recording.process.stderr
    assert recording.value("SELECT count(*) FROM allocation WHERE kind = 2") == 5
    assert recording.value("SELECT count(*) FROM allocation WHERE freed_event IS NOT NULL") == 2


KILLED = """
import ctypes, os, time
cuda, pointer = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)) == 0
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
os.kill(os.getpid(), 9)
"""


def test_a_killed_program_ran_until_it_was_killed(tmp_path):
    """And not up to its last event."""
    recording = record(tmp_path, PYTHON, "-c", KILLED)
    run = recording.report()["run"]
    last = recording.value("SELECT max(time_ns) FROM every_event")
    start = recording.value("SELECT value FROM run WHERE key = 'start_time_ns'")
    assert run["ended"] == "signal 9"
    assert run["duration_ns"] >= last - int(start) + 500_000_000


# What its child, which sees its end, holds the journal for, so that it cannot be imported sooner.
IMPORTED_LATE = KILLED.replace("os.kill(os.getpid(), 9)", """
import fcntl, glob, sys
(sees_end, is_alive), (sees_held, is_held) = os.pipe(), os.pipe()
if os.fork():
    os.close(is_held)
    os.read(sees_held, 1)
    os.kill(os.getpid(), 9)
os.close(is_alive)
with open(glob.glob("*.journal")[0], "rb") as journal:
    fcntl.flock(journal, fcntl.LOCK_EX)
    os.close(is_held)
    os.read(sees_end, 1)
    time.sleep(1)
    with open("released", "w") as file:
        file.write(str(time.monotonic_ns()))
""")


def test_what_is_imported_after_the_end_is_no_run_time(tmp_path):
    recording = record(tmp_path, "env", "VTRACE_COLLECT=0", PYTHON, "-c", IMPORTED_LATE)
    run = recording.report()["run"]
    start = int(recording.value("SELECT value FROM run WHERE key = 'start_time_ns'"))
    assert run["ended"] == "signal 9"
    assert start + run["duration_ns"] < int((tmp_path / "released").read_text())


def test_a_path_that_the_loader_splits(tmp_path):
    """LD_PRELOAD ends a name at a space or a colon: the recorder and the simulator are loaded through a link."""
    place = tmp_path / "with space:and colon"
    shutil.copytree(BUILD / "simulator", place / "simulator")
    for name in ("vtrace", "libvtrace.so"):
        shutil.copy2(BUILD / name, place / name)
    done = subprocess.run([place / "vtrace", "run", "--simulate", "h100-80g", "-o", "run.db", "--", PYTHON, HOLD],
                          cwd=tmp_path, env=clean_environment({"TMPDIR": str(tmp_path)}), input="alloc 3\n",
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0
    assert "ld.so" not in done.stderr and "events, 0 lost; peak" in done.stderr
    [link] = (tmp_path / f"vtrace-links-{os.geteuid()}").iterdir()
    assert link.readlink() == place


def test_no_link_that_another_user_could_change(tmp_path):
    """Where the folder of links is open to others, another one is taken."""
    place = tmp_path / "with space"
    place.mkdir()
    for name in ("vtrace", "libvtrace.so"):
        shutil.copy2(BUILD / name, place / name)
    links = tmp_path / f"vtrace-links-{os.geteuid()}"
    links.mkdir()
    links.chmod(0o777)
    done = subprocess.run([place / "vtrace", "run", "--", "sh", "-c", 'echo "$LD_PRELOAD"'], cwd=tmp_path,
                          env=clean_environment({"TMPDIR": str(tmp_path)}), capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    assert done.returncode == 0 and list(links.iterdir()) == []
    assert str(links) not in done.stdout and "libvtrace.so" in done.stdout


def test_a_program_that_cannot_load_the_recorder_is_named(tmp_path):
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 3; }\n")
    subprocess.run(["cc", "-static", "-o", tmp_path / "static", source], check=True, timeout=TIMEOUT_S)
    done = vtrace("run", "--", "./static", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        3, "vtrace: ./static was not recorded: it is statically linked\n")
    assert vtrace("run", "-q", "--", "./static", cwd=tmp_path).stderr == ""


def test_a_loader_that_refuses_the_recorder_is_said(tmp_path):
    """The library needs more address space than this limit leaves it."""
    done = subprocess.run(["sh", "-c", 'ulimit -v 60000 && exec "$@"', "sh", VTRACE, "run", "--", "/bin/true"],
                          cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0
    assert done.stderr.endswith("\nvtrace: /bin/true was not recorded: "
                                "the dynamic loader did not accept it\n")
