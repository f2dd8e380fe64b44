# SPDX-License-Identifier: MIT
"""scripts/quickstart asked for anything but its work does none."""
import subprocess

import pytest

from recording import SOURCE, TIMEOUT_S, clean_environment

QUICKSTART = SOURCE / "scripts" / "quickstart"


def quickstart(directory, *arguments):
    """With nothing on PATH that could install or build, and a build folder that must not appear."""
    environment = clean_environment({"VTRACE_BUILD": str(directory / "build")})
    tools = directory / "tools"
    tools.mkdir()
    for name in ("dirname", "basename", "sed"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    environment["PATH"] = str(tools)
    done = subprocess.run(["/bin/bash", QUICKSTART, *arguments], cwd=directory, env=environment, capture_output=True,
                          text=True, timeout=TIMEOUT_S)
    assert not (directory / "build").exists()
    return done


@pytest.mark.parametrize("option", ("--help", "-h"))
def test_help_says_what_it_does(option, tmp_path):
    done = quickstart(tmp_path, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert "scripts/quickstart\n" in done.stdout and "VTRACE_PYTHON" in done.stdout
    assert "#" not in done.stdout and "set -euo" not in done.stdout


@pytest.mark.parametrize("arguments", (("--hlep",), ("train.py",), ("--help", "me")))
def test_what_is_unknown_is_wrong_usage(arguments, tmp_path):
    done = quickstart(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("quickstart: ")
