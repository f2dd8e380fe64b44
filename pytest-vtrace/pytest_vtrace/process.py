# SPDX-License-Identifier: MIT
"""Runs one test in a recorded process of its own, and brings back what pytest there reported."""
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field

CHILD = pathlib.Path(__file__).with_name("child.py")
TAIL_LINES = 40  # of the output of a process that died


@dataclass
class Outcome:
    database: pathlib.Path
    reports: list = field(default_factory=list)  # as pytest_report_to_serializable gave them
    has_ended: bool = False  # the test's teardown, too
    died: str = ""  # how, where it has not
    output: str = ""


def name_of(nodeid):
    """A file name that is short, readable and of this test alone."""
    readable = re.sub(r"[^\w.-]+", "-", nodeid.split("::", 1)[-1])[:60].strip("-")
    return f"{readable}-{hashlib.sha1(nodeid.encode()).hexdigest()[:8]}"


def is_plain(value):
    return value is None or isinstance(value, (bool, int, float, str)) or (
        isinstance(value, (list, tuple)) and all(is_plain(v) for v in value))


def arguments_of(item, folder):
    """pytest's arguments for that test alone, with the files and plugins of the parent."""
    config = item.config
    path, _, rest = item.nodeid.partition("::")
    arguments = [f"{item.path}::{rest}" if rest else str(item.path), f"--rootdir={config.rootpath}",
                 "--basetemp", str(folder / "tmp"), "-o", f"cache_dir={folder / 'cache'}", "--junitxml="]
    if config.inipath:
        arguments += ["-c", str(config.inipath)]
    for plugin in config.option.plugins or []:
        arguments += ["-p", plugin]
    for override in config.option.override_ini or []:
        arguments += ["-o", override]
    # In the project's addopts it would start workers here, too.
    if config.pluginmanager.hasplugin("xdist"):
        arguments += ["-n0"]
    return arguments


def how_it_died(code):
    """`vtrace run` has the exit code of the program, by a signal 128 + its number or the signal itself."""
    number = -code if code < 0 else code - 128
    try:
        return f"was killed by {signal.Signals(number).name}" if number > 0 else f"ended with exit code {code}"
    except ValueError:
        return f"ended with exit code {code}"


def tail(path):
    return "\n".join(path.read_text(errors="replace").splitlines()[-TAIL_LINES:])


def read_reports(path, outcome):
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            return  # it died while writing
        if entry["kind"] == "end":
            outcome.has_ended = True
        else:
            outcome.reports.append(entry["data"])


def run(item, vtrace, folder, simulate):
    """`folder` is this test's own."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = Outcome(folder / "run.db")
    reports, task, output = folder / "reports.jsonl", folder / "task.json", folder / "output.txt"
    task.write_text(json.dumps({
        "arguments": arguments_of(item, folder), "reports": str(reports), "sys_path": sys.path,
        "options": {k: v for k, v in vars(item.config.option).items() if is_plain(v)}}), encoding="utf-8")
    command = [vtrace, "run", "-q", "-o", str(outcome.database)]
    if simulate:
        command += ["--simulate", simulate]
    with open(output, "wb") as file:
        code = subprocess.call([*command, "--", sys.executable, str(CHILD), str(task)], stdin=subprocess.DEVNULL,
                               stdout=file, stderr=subprocess.STDOUT)
    read_reports(reports, outcome)
    if not outcome.has_ended:
        outcome.died, outcome.output = how_it_died(code), tail(output)
    return outcome
