# SPDX-License-Identifier: MIT
"""What is said beside the figures: commands that are offered, names that can be copied, options that were not taken."""
import json
import re
import shlex
import shutil
import subprocess

import pytest

from recording import BUILD, PYTHON, TIMEOUT_S, VTRACE, clean_environment, record, vtrace

CLIENT = BUILD / "tests" / "workloads" / "driver_client"
SHORT = "import torch; x = torch.empty(1 << 20, device='cuda')"
NAMES = ["my run.db", "$HOME.db", "-v.db", "it's.db", "a\nb\033[31m.db"]
MARKS = """
import ctypes
vtrace = ctypes.CDLL(None)
import torch
x = torch.empty(1 << 20, device="cuda")
vtrace.vtrace_mark(b"first\\nline")
y = torch.empty(1 << 20, device="cuda")
"""


def run(directory, name, *command, env=None):
    return subprocess.run([VTRACE, "run", "--simulate", "h100-80g", "-o", directory / name, "--", *command],
                          cwd=directory, env=clean_environment(env), capture_output=True, text=True, timeout=TIMEOUT_S)


def offered(text):
    """The commands behind "next:", as a shell takes them apart."""
    return [shlex.split(command) for command in re.search(r"next: (.*)$", text, re.M)[1].split(" | ")]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("name", NAMES[:4])
def test_the_closing_line_can_be_copied(name, killed, tmp_path):
    command = [PYTHON, "-c", SHORT + "; import os; os.kill(os.getpid(), 9)" if killed else SHORT]
    done = run(tmp_path, name, *command)
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    words, page = offered(done.stderr)
    assert page == ["vtrace", "html", words[-1]]
    reported = vtrace(*words[1:], cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    assert lines[0].endswith("; " + lines[1].split(" | vtrace html ")[1])
    assert words[-1] in offered(reported.stdout)[0]


def test_no_name_drives_the_terminal(tmp_path):
    done = run(tmp_path, NAMES[4], PYTHON, "-c", SHORT)
    said = done.stderr + vtrace("report", tmp_path / NAMES[4]).stdout
    assert "\033" not in said and r"a\012b\033[31m.db'" in said
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("name", NAMES)
def test_check_and_a_folder_of_ranks_offer_what_can_be_copied(name, tmp_path):
    """As test_no_name_drives_the_terminal, of the views that are no report of one file."""
    recording = record(tmp_path, CLIENT).database
    files = [tmp_path / "ranks" / name, tmp_path / "ranks" / f"2{name}"]
    files[0].parent.mkdir()
    for file in files:
        shutil.copy(recording, file)
    (tmp_path / "memory.toml").write_text("[total]\nallocated = 0\n")
    check = [VTRACE, "check", "--", f"ranks/{name}"]
    checked = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S)
    compared = subprocess.run([*check[:2], "--baseline", f"ranks/2{name}", *check[2:]], cwd=tmp_path,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
    ranks = vtrace("report", "ranks", cwd=tmp_path)
    assert (checked.returncode, ranks.returncode) == (1, 0), checked.stderr + ranks.stderr
    if name == NAMES[4]:
        assert "\033" not in checked.stdout + compared.stdout + ranks.stdout
        return
    assert offered(checked.stdout) == [["vtrace", "report", f"ranks/{name}"]]
    assert offered(compared.stdout) == [["vtrace", "diff", f"ranks/2{name}", f"ranks/{name}"]]
    assert {word for words in offered(ranks.stdout) for word in words[2:]} <= {f"ranks/{f.name}" for f in files}


def test_only_commands_with_something_to_say_are_offered(tmp_path):
    short = record(tmp_path, PYTHON, "-c", SHORT)
    text = vtrace("report", short.database).stdout
    assert [words[1] for words in offered(text)] == ["html", "blocks", "frag", "diff"]
    driver = record(tmp_path, CLIENT, name="driver.db")
    assert [words[1] for words in offered(vtrace("report", driver.database).stdout)] == ["html", "blocks", "diff"]
    loop = SHORT + "\nfor i in range(400):\n    torch.empty(1 << 20, device='cuda').add_(1)"
    long = record(tmp_path, PYTHON, "-c", loop, name="long.db")
    assert "leaks" in [words[1] for words in offered(vtrace("report", long.database).stdout)]


def test_an_option_that_is_no_number_is_named_once(tmp_path):
    done = run(tmp_path, "run.db", PYTHON, "-c", SHORT, env={"VTRACE_STACKS": "abc"})
    assert done.stderr.count("VTRACE_STACKS is not a number; ignored\n") == 1
    quiet = run(tmp_path, "quiet.db", PYTHON, "-c", SHORT, env={"VTRACE_STACKS": "abc", "VTRACE_QUIET": "1"})
    assert quiet.stderr == ""
    assert "is not a number" not in run(tmp_path, "good.db", PYTHON, "-c", SHORT, env={"VTRACE_STACKS": "64"}).stderr


def test_a_pattern_that_comes_to_nothing_hides_no_file(tmp_path):
    done = run(tmp_path, "%q{NOPE}.db", PYTHON, "-c", SHORT)
    assert done.returncode == 0, done.stderr
    names = [path.name for path in tmp_path.iterdir()]
    assert len(names) == 1 and re.fullmatch(r"vtrace-python.*\.db", names[0]), names


def test_a_mark_is_found_by_its_name_and_by_what_is_printed_of_it(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", MARKS)
    assert recording.process.returncode == 0, recording.process.stderr
    printed = re.search(r"(first.line)", vtrace("report", recording.database, "--stages", "marks").stdout)[1]
    assert printed != "first\nline"
    there = [recording.blocks(f"mark:{name}") for name in (printed, "first\nline")]
    assert there[0] == there[1] and len(there[0]["blocks"]) == 1
    assert vtrace("blocks", recording.database, "--at", "mark:first line").returncode == 3


@pytest.mark.parametrize("words", [("blocks",), ("blocks", "--by", "owner"), ("explain", "1"), ("report",), ("frag",),
                                   ("oom",), ("leaks",), ("whatif",), ("info",)])
def test_every_json_has_a_format(words, tmp_path):
    recording = record(tmp_path, PYTHON, "-c", SHORT)
    event = recording.blocks("peak")["blocks"][0]["allocated_event"]
    arguments = [str(event) if word == "1" else word for word in words[1:]]
    done = vtrace(words[0], recording.database, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"] == 1
