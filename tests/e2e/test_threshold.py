# SPDX-License-Identifier: MIT
"""`vtrace top --warn`, `vtrace run --warn`: thresholds of a program that runs."""
import json
import os
import re
import signal
import subprocess

import pytest

from living import Program, interrupt_a_look, last_sample, until
from recording import PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, vtrace

LINE = re.compile(r"vtrace: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ run\.db: (.*)\n")


@pytest.fixture
def program(tmp_path):
    living = Program(tmp_path)
    living.tell("alloc 1")
    until((tmp_path / "run.db").exists)
    yield living
    if living.process.poll() is None:
        living.end()


class Watcher:
    def __init__(self, what, *arguments, cwd=None):
        rules = [word for rule in what for word in ("--warn", rule)]
        self.process = subprocess.Popen([VTRACE, "top", "--every", "1", *rules, *map(str, arguments)], cwd=cwd,
                                        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.PIPE, text=True, start_new_session=True)

    def line(self):
        text = self.process.stderr.readline()
        found = LINE.fullmatch(text)
        assert found, text
        return found[1]

    def end(self):
        """Not by communicate(): it does not know of lines that readline() has read ahead."""
        self.process.wait(timeout=TIMEOUT_S)
        return self.process.returncode, self.process.stdout.read(), self.process.stderr.read()


def test_reached_recovered_with_a_margin_and_reached_again(program, tmp_path):
    watcher = Watcher(["user=10.4MiB", "user=11.5MiB"], tmp_path / "run.db")
    program.tell("alloc 11")
    assert {watcher.line(), watcher.line()} == {"user=10.4MiB reached: user 12.00 MiB, 0.0 % of cuda:0",
                                                "user=11.5MiB reached: user 12.00 MiB, 0.0 % of cuda:0"}
    program.tell("free 2")
    # 10 MiB is below both, but within the margin of the first.
    assert watcher.line() == "user=11.5MiB no longer reached: user 10.00 MiB, 0.0 % of cuda:0"
    program.tell("free 1")
    assert watcher.line() == "user=10.4MiB no longer reached: user 9.00 MiB, 0.0 % of cuda:0"
    program.tell("alloc 2")
    assert watcher.line() == "user=10.4MiB reached: user 11.00 MiB, 0.0 % of cuda:0"
    program.end()
    assert watcher.end() == (1, "", "")


def test_what_was_said_is_in_the_recording(program, tmp_path):
    watcher = Watcher(["user=10.4MiB"], tmp_path / "run.db")
    program.tell("alloc 11")
    said = [watcher.line()]
    program.tell("free 3")
    said.append(watcher.line())
    program.end()
    assert watcher.end() == (1, "", "")
    report = json.loads(vtrace("report", "--json", tmp_path / "run.db").stdout)
    rows = report["warnings"]
    assert [row["what"] for row in rows] == said
    assert [(row["threshold"], row["is_reached"], row["bytes"]) for row in rows] == \
        [("user=10.4MiB", True, 12 << 20), ("user=10.4MiB", False, 9 << 20)]
    assert {row["threshold_bytes"] for row in rows} == {round(10.4 * (1 << 20))}
    assert 0 < rows[0]["time_ns"] < rows[1]["time_ns"] < report["run"]["duration_ns"] + 10**9
    assert 12 <= rows[0]["event"] < rows[1]["event"] <= report["run"]["events"]
    text = vtrace("report", tmp_path / "run.db").stdout
    assert "WARNINGS  thresholds (--warn) reached during the run\n" in text
    assert f": {said[0]}\n" in text and f": {said[1]}\n" in text
    # Finished: it stays as it is, and is one file.
    before = (tmp_path / "run.db").read_bytes()
    assert vtrace("top", "--once", "--warn", "user=1MiB", tmp_path / "run.db").returncode == 1
    assert (tmp_path / "run.db").read_bytes() == before and not list(tmp_path.glob("run.db-*"))


def test_of_the_device_and_of_a_folder(program, tmp_path):
    watcher = Watcher(["1%"], tmp_path)
    program.tell("alloc 400")
    found = re.fullmatch(r"1% reached: in use 1\.\d\d GiB, (\d\.\d) % of cuda:0; most: (.*)", watcher.line())
    assert float(found[1]) >= 1.0
    assert [name.split()[0].split("/")[0] for name in found[2].split(", ")] == ["context", "user"]
    watcher.process.send_signal(signal.SIGTERM)
    assert watcher.end() == (1, "", "")
    program.tell("alloc 1")


def test_a_look_that_a_signal_ends_is_no_failure(program, tmp_path):
    watcher = Watcher(["99%"], tmp_path)
    interrupt_a_look(watcher.process)
    assert watcher.end() == (0, "", "")


def test_growth(program, tmp_path):
    watcher = Watcher(["user=+2MiB/s", "user=2MiB"], program.process.pid)
    program.tell("alloc 2")
    assert watcher.line().startswith("user=2MiB reached")
    program.tell("alloc 40")
    assert re.fullmatch(r"user=\+2MiB/s reached: user \+\d+\.\d\d MiB per s", watcher.line())
    assert watcher.line() == "user=+2MiB/s no longer reached: user 0 B per s"
    program.end()
    assert watcher.end()[0] == 1


def test_nothing_reached_and_an_owner_that_nobody_has(program, tmp_path):
    watcher = Watcher(["90%", "user=70GiB", "wieghts=1GiB"], tmp_path / "run.db")
    program.end()
    code, output, errors = watcher.end()
    assert (code, output, errors) == (0, "", "vtrace: --warn wieghts=1GiB: this owner had no memory at any sample\n")


def test_once(program, tmp_path):
    until(lambda: "1.00 MiB" in vtrace("top", tmp_path / "run.db").stdout)
    done = vtrace("top", "--once", "--warn", "user=1MiB", tmp_path / "run.db")
    assert done.returncode == 1 and LINE.fullmatch(done.stderr) and done.stdout.startswith("hold_memory.py")
    assert vtrace("top", "--once", "--warn", "user=1.1MiB", tmp_path / "run.db").returncode == 0


def test_the_command_has_the_figures_and_disturbs_nothing(program, tmp_path):
    command = ('read line; echo "$VTRACE_WARN|$VTRACE_WARN_BYTES|$VTRACE_WARN_PID|$VTRACE_WARN_FILE|$line" >&2;'
               ' echo "$VTRACE_WARN_LINE"; "$VTRACE" snapshot -o frozen.db "$VTRACE_WARN_FILE" >told')
    watcher = Watcher(["user=3MiB"], "--then", f'VTRACE="{VTRACE}"; {command}', "run.db", cwd=tmp_path)
    program.tell("alloc 2")
    line = watcher.line()
    until((tmp_path / "frozen.db").exists)
    program.end()
    code, output, errors = watcher.end()
    pid = vtrace("top", tmp_path / "run.db").stdout.split("pid ")[1].split()[0]
    first, second = errors.splitlines()
    assert (code, output, first) == (1, "", f"user=3MiB|{3 << 20}|{pid}|run.db|")
    assert second.endswith(f"run.db: {line}") and (tmp_path / "told").read_text() == "frozen.db\n"
    assert vtrace("report", tmp_path / "frozen.db").returncode == 0


def test_a_command_that_hangs_stops_no_watching(program, tmp_path):
    watcher = Watcher(["user=3MiB", "user=20MiB", "none=1B"], "--then", "echo $$ >>pids; exec sleep 600",
                      tmp_path / "run.db", cwd=tmp_path)
    program.tell("alloc 2")
    assert watcher.line().startswith("user=3MiB reached")
    program.tell("free 1")
    assert watcher.line().startswith("user=3MiB no longer reached")
    program.tell("alloc 1")
    assert watcher.line().startswith("user=3MiB reached")
    assert watcher.process.stderr.readline() == "vtrace: user=3MiB: the --then command is still running\n"
    program.tell("alloc 20")
    assert watcher.line().startswith("user=20MiB reached")
    first, second = until(lambda: len(pids := (tmp_path / "pids").read_text().split()) == 2 and pids)
    os.kill(int(first), signal.SIGKILL)
    assert watcher.process.stderr.readline() == "vtrace: user=3MiB: the --then command was killed by signal 9\n"
    program.end("kill 9")
    # It is at its end, and waits for the second one.
    assert watcher.process.stderr.readline() == "vtrace: --warn none=1B: this owner had no memory at any sample\n"
    assert watcher.process.poll() is None
    os.kill(int(second), signal.SIGTERM)
    assert watcher.end() == (1, "", "vtrace: user=20MiB: the --then command was killed by signal 15\n")


def test_a_command_that_fails_is_said(program, tmp_path):
    watcher = Watcher(["user=1MiB"], "--then", "exit 7", tmp_path / "run.db")
    watcher.line()
    assert watcher.process.stderr.readline() == "vtrace: user=1MiB: the --then command exited with status 7\n"
    program.end()
    assert watcher.end()[0] == 1


def test_a_killed_watcher_takes_nobody_with_it(program, tmp_path):
    watcher = Watcher(["user=1MiB"], "--then", "echo $$ >pid; exec sleep 600", tmp_path / "run.db", cwd=tmp_path)
    watcher.line()
    pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
    watcher.process.kill()
    watcher.process.wait()
    program.tell("alloc 1")
    os.kill(pid, signal.SIGTERM)
    assert program.end("quit 3")[0] == 3


def test_in_a_terminal_the_lines_are_above_the_picture_and_said_at_the_end(program, tmp_path):
    from test_top import Terminal
    terminal = Terminal(tmp_path, VTRACE, "top", "--every", "1", "--warn", "user=3MiB", tmp_path / "run.db")
    try:
        terminal.shows(r"^user +1\.00 MiB")
        program.tell("alloc 2")
        terminal.shows(r"^20\S+Z run\.db: user=3MiB reached: user 3\.00 MiB.*\nhold_memory\.py  pid ")
        program.end()
        terminal.shows(r"^vtrace: 20\S+Z run\.db: user=3MiB reached: user 3\.00 MiB")
        terminal.shows("^ended with 1$")
    finally:
        terminal.close()


@pytest.mark.parametrize("what", ("", "0%", "101%", "-1%", "85 %%", "user=", "=1GiB", "+1GiB", "1GiB/min", "+1GiB/day",
                                  "+1GiB/", "user=+1MiB/step", "0", "x", "1e3%", "user=+0/min", "nan%", "85", "user=3"))
def test_wrong_thresholds(tmp_path, what):
    done = vtrace("top", "--warn", what, tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"vtrace top: --warn {what}: not ")


def test_then_needs_a_threshold(tmp_path):
    assert vtrace("top", "--then", "true", tmp_path).returncode == 2


class Run(Program):
    """The same thresholds, of `vtrace run`."""

    def __init__(self, folder, *what, then=(), **settings):
        super().__init__(folder, **settings, options=[*(word for rule in what for word in ("--warn", rule)), *then])

    def line(self):
        text = self.process.stderr.readline()
        return found[1] if (found := LINE.fullmatch(text)) else text

    def finish(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.close()
        self.process.wait(timeout=TIMEOUT_S)
        return self.process.returncode, self.process.stdout.read(), self.process.stderr.read()

    def watcher(self):
        """The process beside the program's: its command line is that of `vtrace run`."""
        pid = self.process.pid
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        return next(int(child) for child in children if b"--warn" in open(f"/proc/{child}/cmdline", "rb").read())


def test_run_says_it_and_the_program_is_as_it_was(tmp_path):
    command = 'echo "$LD_PRELOAD|$VTRACE_WARN_BYTES"; read line; exit 0'
    program = Run(tmp_path, "user=10MiB", "99%", then=("--then", command))
    program.tell("alloc 12")
    assert program.line() == "user=10MiB reached: user 12.00 MiB, 0.0 % of cuda:0"
    assert program.line() == f"|{12 << 20}\n"
    program.tell("free 6")
    assert program.line() == "user=10MiB no longer reached: user 6.00 MiB, 0.0 % of cuda:0"
    code, output, errors = program.finish("quit 5")
    assert (code, output) == (5, "") and errors.count("\n") == 2 and " 0 lost; " in errors


@pytest.mark.parametrize("end, code", (("quit 0", 0), ("kill 9", 137)))
def test_run_ends_with_the_program_whoever_is_killed(tmp_path, end, code):
    program = Run(tmp_path, "user=2MiB", then=("--then", "echo $$; exec sleep 600"))
    program.tell("alloc 3")
    assert program.line().startswith("user=2MiB reached")
    command = int(program.line())
    os.kill(program.watcher(), signal.SIGKILL)
    program.tell("alloc 3")
    os.kill(command, signal.SIGKILL)
    got, output, errors = program.finish(end)
    assert (got, output) == (code, "") and " 0 lost; " in errors


def test_the_watcher_of_a_killed_run_ends(tmp_path):
    program = Run(tmp_path, "user=2MiB")
    program.tell("alloc 3")
    assert program.line().startswith("user=2MiB reached")
    watcher = program.watcher()
    program.process.kill()
    program.process.wait()
    until(lambda: not os.path.exists(f"/proc/{watcher}") or "Z (" in open(f"/proc/{watcher}/status").read())
    # The program goes on without it.
    program.tell("alloc 1")
    program.process.stdin.close()


def test_run_waits_for_the_command(tmp_path):
    command = "echo started; while ! test -e go; do sleep 0.3; done; echo over"
    program = Run(tmp_path, "user=2MiB", then=("--then", command))
    program.tell("alloc 3")
    assert program.line().startswith("user=2MiB reached") and program.line() == "started\n"
    program.process.stdin.close()
    assert " 0 lost; " in program.line() and "next: " in program.line()
    assert program.process.poll() is None
    (tmp_path / "go").touch()
    assert program.process.wait(timeout=TIMEOUT_S) == 0
    os.set_blocking(program.process.stderr.fileno(), False)
    assert program.process.stderr.read() == "over\n"


@pytest.mark.parametrize("options", (("--warn", "85 %%"), ("--warn", "user=0"), ("--then", "true")))
def test_run_starts_nothing_where_a_threshold_is_wrong(tmp_path, options):
    done = vtrace("run", *options, "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("vtrace run: --") and not list(tmp_path.iterdir())


def test_run_of_what_records_nothing(tmp_path):
    done = vtrace("run", "--warn", "none=1B", "--", "sh", "-c", "exit 4", cwd=tmp_path)
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and "nothing was recorded" in done.stderr


SHORT = "alloc 1500\nfree 1500\n"  # in pages of 2 MiB


def run_short(folder, what, *options, command="", shell="exec"):
    options = ["--simulate", "h100-80g,memory=4GiB", "-o", folder / "run.db", "--warn", what, *options]
    program = ["sh", "-c", f'{shell} "$0" "$1"', PYTHON, WORKLOADS / "hold_memory.py"]
    return subprocess.run([VTRACE, "run", *options, "--", *program], cwd=folder, env=clean_environment(),
                          input=SHORT + command, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.mark.parametrize("shell, command, code", (
    ("exec", "", 0), ("exec", "quit 5\n", 5), ("exec", "kill 9\n", 137), ("", "", 0)), ids=repr)
def test_run_says_what_no_look_saw(tmp_path, shell, command, code):
    """It came and went within one pause, in a program that ended before the second look."""
    said = 'echo "told $VTRACE_WARN_BYTES" >told'
    done = run_short(tmp_path, "75%", "--then", said, command=command, shell=shell)
    found = [match[1] for match in LINE.finditer(done.stderr)]
    assert done.returncode == code and len(found) == 1, done.stderr
    assert re.fullmatch(r"75% reached( at the peak)?: in use 3\.\d\d GiB, .*; most: user\S* 1\.46 GiB, .*", found[0])
    told = int((tmp_path / "told").read_text().split()[1])
    report = json.loads(vtrace("report", "--json", tmp_path / "run.db").stdout)
    row, = report["warnings"]
    assert (row["what"], row["bytes"], row["is_reached"]) == (found[0], told, True)
    assert 0 < row["time_ns"] <= report["run"]["duration_ns"] and row["event"] <= report["run"]["events"]
    if "at the peak" in found[0]:
        assert told == report["devices"][0]["peak"]["device_used_bytes"]
    assert not list(tmp_path.glob("run.db-*"))


def test_bytes_are_the_processs_and_a_share_is_the_devices(tmp_path):
    """3 GiB of 80 are other processes'."""
    program = Run(tmp_path, "6GiB", "4GiB", "9%", profile="h100-80g,other=3GiB")
    program.tell("alloc 1")
    until(lambda: (sample := last_sample(program)) and sample[1] == 3 << 30)
    program.tell("alloc 2200")
    first, second = sorted([program.line(), program.line()])
    assert re.match(r"4GiB reached: in use 4\.\d\d GiB, ", first), first
    assert re.match(r"9% reached: in use 7\.\d\d GiB, ", second), second
    assert "reached" not in program.finish("quit 0")[2]


def test_run_watches_the_next_process_when_one_has_ended(tmp_path):
    script = tmp_path / "script.sh"
    program = f'"{PYTHON}" "{WORKLOADS}/hold_memory.py"'
    script.write_text(f"(echo alloc 5; sleep 1; echo free 5) | {program}\n"
                      f"(echo alloc 500; while ! test -e said; do sleep 0.1; done) | {program}\n")
    then = f'echo "$VTRACE_WARN_FILE" >"{tmp_path}/said"'
    done = subprocess.run([VTRACE, "run", "--simulate", "h100-80g,memory=4GiB", "-o", "run-%p.db", "--warn", "20%",
                           "--then", then, "--", "sh", script], cwd=tmp_path, env=clean_environment(),
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    assert re.search(r" run-\d+\.db: 20% reached: in use 1\.49 GiB", done.stderr), done.stderr
    warned = (tmp_path / "said").read_text().strip()
    assert os.path.isabs(warned) and "20% reached" in vtrace("report", warned).stdout


def test_run_records_what_a_look_after_the_end_saw(tmp_path):
    """The program has ended, the script that ran it has not."""
    program = Run(tmp_path, "user=2MiB", "20%", profile="h100-80g,memory=4GiB", script='"$@"; read line')
    program.tell("alloc 3")
    assert program.line().startswith("user=2MiB reached")
    watcher = program.watcher()
    os.kill(watcher, signal.SIGSTOP)
    program.tell("alloc 500")
    program.process.stdin.write("quit 4\n")
    program.process.stdin.flush()
    until(lambda: "ended with exit status 4" in vtrace("report", tmp_path / "run.db").stdout)
    os.kill(watcher, signal.SIGCONT)
    assert program.line().startswith("20% reached at the peak")
    program.finish("")
    assert "20% reached at the peak" in vtrace("report", tmp_path / "run.db").stdout


def test_run_with_nobody_who_reads_what_it_says(tmp_path):
    """The program's exit code, the recording and the command do not depend on it."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([VTRACE, "run", "--simulate", "h100-80g,memory=4GiB", "-o", "run.db", "--warn", "20%",
                           "--then", "echo told >told", "--", PYTHON, WORKLOADS / "hold_memory.py"], cwd=tmp_path,
                          env=clean_environment(), input="alloc 500\nquit 4\n", stdout=subprocess.DEVNULL,
                          stderr=writing, text=True, timeout=TIMEOUT_S)
    os.close(writing)
    assert done.returncode == 4 and (tmp_path / "told").read_text() == "told\n"
    assert "20% reached" in vtrace("report", tmp_path / "run.db").stdout


def test_a_name_with_a_newline_is_found(tmp_path):
    folder = tmp_path / "new\nline"
    folder.mkdir()
    program = Run(folder, "user=2MiB")
    program.tell("alloc 3")
    assert program.line().startswith("user=2MiB reached: ")
    assert vtrace("top", program.process.pid).stdout.startswith("hold_memory.py  pid ")
    program.finish("quit 0")


def test_growth_over_time_needs_more_than_one_look(program, tmp_path):
    done = vtrace("top", "--once", "--warn", "+1GiB/min", tmp_path / "run.db")
    assert done.returncode == 2 and "more than one sample" in done.stderr
    assert vtrace("top", "--once", "--warn", "+1GiB/step", tmp_path / "run.db").returncode == 0
