# SPDX-License-Identifier: MIT
"""What PyTorch counts in runs of planned_run.py on a card that is never full: many with one start of PyTorch."""
import json

from recording import PYTHON, WORKLOADS, vtrace


def simulated(folder, card, *command, rows=""):
    """The lines that a program of PyTorch prints."""
    done = vtrace("run", "-q", "--no-collect", "--probe", 0, "--simulate", f"{card},memory=4096GiB", "--force", "-o",
                  f"{folder}/counted.db", "--", PYTHON, *command, input=rows, timeout=None)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def counted(folder, card, runs):
    """For each (configuration, words of planned_run.py) its peaks, or what went wrong: {"error": ...}."""
    rows = "".join(json.dumps({"values": values, "options": [*map(str, words)]}) + "\n" for values, words in runs)
    return [json.loads(line) for line in simulated(folder, card, WORKLOADS / "planned_runs.py", rows=rows)] \
        if rows else []
