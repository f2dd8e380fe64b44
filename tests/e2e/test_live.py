# SPDX-License-Identifier: MIT
"""Commands that look at a program that still runs: list, metrics, snapshot."""
import itertools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest

from living import Program, until
from recording import TIMEOUT_S, VTRACE, clean_environment, vtrace, wheel_python

MIB = 1 << 20


@pytest.fixture
def program(tmp_path):
    living = Program(tmp_path)
    yield living
    if living.process.poll() is None:
        living.end()


def ok(*arguments, cwd=None):
    done = vtrace(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(path):
    return len(json.loads(ok("blocks", path, "--at", "end", "--json"))["blocks"])


def samples(text):
    return {name + (owner or ""): int(value) for name, owner, value in
            re.findall(r'^(\w+)\{.*?(?:owner="([^"]*)")?\} (-?\d+)$', text, re.M)}


def test_a_snapshot_has_what_was_there_and_the_program_goes_on(program, tmp_path):
    program.tell("alloc 5")
    assert ok("snapshot", program.process.pid, "-o", "a.db", cwd=tmp_path) == "a.db\n"
    program.tell("alloc 3")
    assert ok("snapshot", tmp_path / "run.db") == f"{tmp_path}/run-snapshot.db\n"
    assert program.end("quit 4")[0] == 4
    assert (blocks(tmp_path / "a.db"), blocks(tmp_path / "run-snapshot.db"), blocks(tmp_path / "run.db")) == (5, 8, 8)
    assert re.search(r"^ended +with a snapshot$", ok("info", tmp_path / "a.db"), re.M)
    assert ok("report", tmp_path / "a.db") and ok("frag", tmp_path / "a.db")
    assert not list(tmp_path.glob("a.db-*")) and not list(tmp_path.glob("*part*"))
    assert stat.S_IMODE(os.stat(tmp_path / "a.db").st_mode) == 0o600
    assert_one_rank(tmp_path, {"a.db", "run-snapshot.db"})


def test_a_snapshot_of_what_has_ended_says_how(program, tmp_path):
    program.tell("alloc 1")
    program.end("kill 9")
    ok("snapshot", tmp_path / "run.db")
    told = json.loads(ok("report", tmp_path / "run-snapshot.db", "--json"))["run"]
    assert told["ended"] == "signal 9"
    assert told == {**json.loads(ok("report", tmp_path / "run.db", "--json"))["run"], **{
        key: told[key] for key in ("database",) if key in told}}
    assert_one_rank(tmp_path, {"run-snapshot.db"})


def test_a_snapshot_of_a_living_program_is_of_now(program, tmp_path):
    """Not of its last event: what was said of it since lies before its end."""
    program.tell("alloc 1")
    time.sleep(1.5)
    ok("snapshot", program.process.pid, "-o", tmp_path / "a.db")
    assert json.loads(ok("report", tmp_path / "a.db", "--json"))["run"]["duration_ns"] > 1.5e9


def assert_one_rank(folder, others):
    """Snapshots and copies beside a recording are not further ranks; the text names them."""
    told = json.loads(ok("report", folder, "--json"))
    assert [os.path.basename(rank["file"]) for rank in told["ranks"]] == ["run.db"]
    text = ok("report", folder)
    for name in others:
        assert re.search(rf"{name}: a copy or snapshot of another recording here", text)


def test_a_snapshot_replaces_nothing_unasked_and_never_the_recording(program, tmp_path):
    program.tell("alloc 1")
    (tmp_path / "there.db").write_text("mine")
    assert vtrace("snapshot", program.process.pid, "-o", tmp_path / "there.db").returncode == 3
    assert (tmp_path / "there.db").read_text() == "mine"
    done = vtrace("snapshot", program.process.pid, "-o", tmp_path / "run.db", "--force")
    assert done.returncode == 3 and "is the recording itself" in done.stderr
    done = vtrace("snapshot", program.process.pid, "-o", tmp_path / "there.db", "--force")
    assert done.returncode == 3 and (tmp_path / "there.db").read_text() == "mine"
    for _ in range(2):
        ok("snapshot", program.process.pid, "-o", tmp_path / "other.db", "--force")
    assert blocks(tmp_path / "other.db") == 1
    # Of a program that still records, under both of its names; and a name that no command would read.
    for name in ("run.db", "run.journal", "new.journal"):
        assert vtrace("snapshot", tmp_path / "other.db", "-o", tmp_path / name, "--force").returncode == 3
    program.tell("alloc 1")
    program.end("quit 0")
    assert blocks(tmp_path / "run.db") == 2 and not (tmp_path / "new.journal").exists()
    # What is left of an old recording is not taken for the new one's.
    (tmp_path / "run.db-wal").write_bytes(b"stale" * 1000)
    ok("snapshot", tmp_path / "other.db", "-o", tmp_path / "run.db", "--force")
    assert blocks(tmp_path / "run.db") == 1 and not (tmp_path / "run.db-wal").exists()


def test_a_snapshot_of_a_killed_program_under_a_killed_command(program, tmp_path):
    """Whatever it was killed at, what it was to write is not there, or whole."""
    program.tell("alloc 4000")
    nr_writing = 0
    for _ in range(5):
        command = subprocess.Popen([VTRACE, "snapshot", tmp_path / "run.db", "-o", tmp_path / "s.db", "--force"],
                                   env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while command.poll() is None and not list(tmp_path.glob("*.part*")):
            pass
        command.kill()
        nr_writing += command.wait() == -signal.SIGKILL
        assert not (tmp_path / "s.db").exists() or blocks(tmp_path / "s.db") == 4000
    assert nr_writing
    program.end("kill 9")
    ok("snapshot", tmp_path / "run.db", "-o", tmp_path / "s.db", "--force")
    assert blocks(tmp_path / "s.db") == 4000


def test_a_recording_without_a_database_yet_is_not_replaced_either(program, tmp_path):
    program.tell("alloc 1")
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "run.journal", other)
    for output in ("run.db", "../other/run.db", other / "run.db", "run.journal"):
        done = vtrace("snapshot", other / "run.journal", "-o", output, "--force", cwd=other)
        assert done.returncode == 3 and "is the recording itself" in done.stderr
    assert [file.name for file in other.iterdir()] == ["run.journal"]


def stopped_while_writing(folder, output):
    """A snapshot that is stopped before its file has its name, and the parts it has by then."""
    while True:
        command = subprocess.Popen([VTRACE, "snapshot", folder / "run.db", "-o", output, "--force"],
                                   env=clean_environment(), stdout=subprocess.DEVNULL)
        parts = []
        while command.poll() is None:
            if parts := sorted(folder.glob(f"{output.name}.{command.pid}-*.part*")):
                command.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, command.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                parts = [part for part in parts if part.exists()]
                break
        if parts and command.poll() is None:
            return command, parts
        command.wait()


def kill(command):
    command.kill()
    command.wait()


def test_what_a_killed_snapshot_left_goes_with_the_next(program, tmp_path):
    program.tell("alloc 4")
    command, left = stopped_while_writing(tmp_path, tmp_path / "s.db")
    kill(command)
    for ending in ("-journal", "-wal", "-shm"):
        left[0].with_name(left[0].name + ending).touch()
    ok("snapshot", tmp_path / "run.db", "-o", "s.db", "--force", cwd=tmp_path)
    assert blocks(tmp_path / "s.db") == 4
    assert not list(tmp_path.glob("*.part*"))


def test_the_part_of_a_living_snapshot_stays(program, tmp_path):
    program.tell("alloc 4")
    command, parts = stopped_while_writing(tmp_path, tmp_path / "s.db")
    try:
        ok("snapshot", tmp_path / "run.db", "-o", tmp_path / "s.db", "--force")
        assert all(part.exists() for part in parts)
        command.send_signal(signal.SIGCONT)
        assert command.wait(timeout=TIMEOUT_S) == 0
    finally:
        kill(command)
    assert blocks(tmp_path / "s.db") == 4 and not list(tmp_path.glob("*.part*"))


def test_only_parts_of_the_same_file_and_of_the_dead_go(program, tmp_path):
    program.tell("alloc 4")
    command, parts = stopped_while_writing(tmp_path, tmp_path / "s.db")
    pid, home = re.fullmatch(r"s\.db\.(\d+)-([0-9a-f]{8})\.part", parts[0].name).groups()
    kill(command)
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    elsewhere = f"{int(home, 16) ^ 1:08x}"
    kept = [f"s.db.{os.getpid()}-{home}.part-wal", f"t.db.{pid}-{home}.part", f"s.db.{pid}-{home}.part.gz",
            f"s.db.{pid}.part", f"s.db.0{pid}-{home}.part", f"s.db.{pid}-{elsewhere}.part"]
    gone = [f"s.db.{zombie.pid}-{home}.part", f"s.db.{zombie.pid}-{home}.part-shm", f"s.db.1-{elsewhere}.part"]
    for name in kept + gone:
        (tmp_path / name).touch()
    os.utime(tmp_path / gone[-1], (1, 1))
    folder = tmp_path / f"s.db.{pid}-{home}.part-wal"
    folder.mkdir()
    ok("snapshot", tmp_path / "run.db", "-o", tmp_path / "s.db", "--force")
    zombie.wait()
    assert sorted(file.name for file in tmp_path.glob("*.part*")) == sorted([*kept, folder.name])


@pytest.mark.parametrize("arguments", (("export", "run.db", "--format", "folded", "-o"), ("html", "run.db", "-o")))
def test_other_commands_clear_leftovers_too(program, tmp_path, arguments):
    program.tell("alloc 1")
    command, parts = stopped_while_writing(tmp_path, tmp_path / "s.db")
    kill(command)
    left = tmp_path / parts[0].name.replace("s.db.", "out.")
    parts[0].rename(left)
    ok(*arguments, "out", cwd=tmp_path)
    assert (tmp_path / "out").exists() and not left.exists()


def test_metrics_are_what_is_in_use(program, tmp_path):
    program.tell("alloc 7")
    until(lambda: samples(ok("metrics", program.process.pid)).get("vtrace_allocated_bytes") == 7 * MIB)
    text = ok("metrics", program.process.pid)
    now = samples(text)
    assert now["vtrace_running"] == 1 and now["vtrace_out_of_memory_total"] == now["vtrace_lost_events_total"] == 0
    owners = sum(value for name, value in now.items() if name.startswith("vtrace_owner_bytes"))
    assert owners == now["vtrace_used_bytes"] > 7 * MIB
    assert 'program="hold_memory.py"' in text and 'file="run.db"' in text
    program.tell("free 6")
    until(lambda: samples(ok("metrics", tmp_path))["vtrace_allocated_bytes"] == MIB)
    assert samples(ok("metrics", tmp_path))["vtrace_peak_used_bytes"] >= 7 * MIB
    program.end("kill 9")
    assert samples(ok("metrics", tmp_path / "run.db"))["vtrace_running"] == 0


def test_the_time_of_a_program_goes_on_without_events(program, tmp_path):
    program.tell("alloc 7")
    until(lambda: samples(ok("metrics", tmp_path)).get("vtrace_allocated_bytes") == 7 * MIB)
    def ran():
        row, = json.loads(ok("list", "--json", tmp_path))["recordings"]
        assert row["allocated_bytes"] == 7 * MIB
        return row["duration_ns"], json.loads(ok("report", "--json", tmp_path / "run.db"))["run"]["duration_ns"]
    first = ran()
    second = ran()
    assert first[0] < first[1] < second[0] < second[1]
    program.end()
    assert ran() == ran()


def test_memory_of_other_processes_is_not_the_program_s(tmp_path):
    program = Program(tmp_path, profile="h100-80g,other=3GiB")
    program.tell("alloc 2")
    now = until(lambda: (lambda found: found.get("vtrace_other_processes_bytes") and found)(
        samples(ok("metrics", tmp_path / "run.db"))))
    assert now["vtrace_other_processes_bytes"] == 3 << 30
    assert 2 * MIB < now["vtrace_used_bytes"] < 1 << 30 < 3 << 30 < now["vtrace_peak_used_bytes"]
    owners = sum(value for name, value in now.items() if name.startswith("vtrace_owner_bytes"))
    assert owners == now["vtrace_used_bytes"]
    program.end()


def test_the_official_parsers_take_both_formats(program, tmp_path):
    program.tell("alloc 2")
    until(lambda: "vtrace_used_bytes" in samples(ok("metrics", tmp_path)))
    file = tmp_path / "vtrace.prom"
    ok("metrics", tmp_path, "-o", file)
    check = ("import sys\nfrom prometheus_client.parser import text_string_to_metric_families as old\n"
             "from prometheus_client.openmetrics.parser import text_string_to_metric_families as new\n"
             "for parse, name in ((new, sys.argv[1]), (old, sys.argv[2])):\n"
             "    print(sorted((f.name, f.type, len(f.samples)) for f in parse(open(name).read())))\n")
    (tmp_path / "open.txt").write_text(ok("metrics", tmp_path))
    done = subprocess.run([wheel_python(), "-c", check, tmp_path / "open.txt", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second and "('vtrace_events', 'counter', 1)" in first


def test_promtool_has_no_complaint(program, tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (apt: prometheus)")
    program.tell("alloc 2")
    ok("metrics", tmp_path, "-o", tmp_path / "vtrace.prom")
    done = subprocess.run(["promtool", "check", "metrics"], input=(tmp_path / "vtrace.prom").read_text(),
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_metrics_again_and_again_end_with_the_program(program, tmp_path):
    program.tell("alloc 2")
    file = tmp_path / "vtrace.prom"
    command = subprocess.Popen([VTRACE, "metrics", str(program.process.pid), "-o", file, "--every", "1"],
                               env=clean_environment())
    until(file.exists)
    assert samples(file.read_text())["vtrace_running"] == 1
    program.end("kill 9")
    assert command.wait(timeout=TIMEOUT_S) == 0
    assert samples(file.read_text())["vtrace_running"] == 0


def test_list_has_a_line_for_each(program, tmp_path):
    program.tell("alloc 2")
    ok("snapshot", program.process.pid, "-o", tmp_path / "a.db")
    rows = [line for line in ok("list", tmp_path).splitlines() if ".db" in line and "next:" not in line]
    assert sorted(row.split()[0] for row in rows) == ["a.db", "run.db"]
    listed = json.loads(ok("list", "--json", cwd=tmp_path))["recordings"]
    assert {row["ended"] for row in listed} == {"running", "frozen"}


@pytest.mark.parametrize("arguments", (("metrics",), ("metrics", "--every", "0", "x"), ("metrics", "--every", "5", "x"),
                                       ("snapshot",), ("list", "a", "b")))
def test_wrong_usage(arguments):
    assert vtrace(*arguments).returncode == 2


def test_what_is_no_recorded_process_is_one_line(program, tmp_path):
    """A program that is recorded lives, and 0 is not the ancestor of all."""
    program.tell("alloc 1")
    until(program.collector)
    child = subprocess.Popen(["sleep", "600"])
    for command, pid in itertools.product(("metrics", "snapshot"), (child.pid, 0)):
        done = vtrace(command, pid, cwd=tmp_path)
        assert done.returncode == 3 and done.stderr.count("\n") == 1
        assert "is not being recorded" in done.stderr
        assert vtrace(command, tmp_path / "none.db").returncode == 3
    child.kill()
    child.wait()
    (tmp_path / "empty").mkdir()
    assert vtrace("list", tmp_path / "empty").returncode == 3


def test_one_of_several_is_not_chosen_in_silence(tmp_path):
    programs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        programs.append(Program(tmp_path / name))
        programs[-1].tell("alloc 1")
    for command in ("top", "metrics", "snapshot"):
        done = vtrace(command, os.getpid(), cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout
        named = re.search(r"started 2 processes that are being recorded: name one of them \((\d+), (\d+)\),",
                          done.stderr)
    for pid in named.groups():
        ok("top", pid)
    programs[0].end()
    ok("metrics", os.getpid())
    programs[1].end()
