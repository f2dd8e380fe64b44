# SPDX-License-Identifier: MIT
"""The jobs of docs/ci: their steps do what they are for, one after the other, as a runner would run them."""
import os
import re
import subprocess

import pytest

from recording import BUILD, PYTHON, SOURCE, clean_environment, vtrace

PROGRAM = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(os.environ["MIB"]) << 20))
"""


def github_steps():
    text = (SOURCE / "docs" / "ci" / "github.yml").read_text()
    for name, script in re.findall(r"- name: (\w+)\n(?: +if: .*\n)? +run: \|\n((?: {10}.*\n)+)", text):
        if name != "install":
            yield re.sub(r"^ {10}", "", script, flags=re.M)


def gitlab_steps():
    text = (SOURCE / "docs" / "ci" / "gitlab.yml").read_text()
    script = re.search(r"  script:\n((?:    - .*\n)+)", text)[1]
    return [line[6:] for line in script.splitlines()]


@pytest.fixture
def job(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "memory.toml").write_text('[total]\ndevice_used = "700 MiB"\n')

    def run(steps, mib, **variables):
        path = f"{BUILD}{os.pathsep}{os.environ['PATH']}"
        environment = clean_environment({"MIB": str(mib), "CARD": "h100-80g", "COMMAND": f"{PYTHON} train.py",
                                         "PATH": path, **variables})
        codes = []
        for step in steps:
            done = subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path, env=environment, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
            codes.append(done.returncode)
        return codes, done.stderr
    return run


def test_github(job, tmp_path):
    steps = list(github_steps())
    assert len(steps) == 4
    summary = tmp_path / "summary.md"
    assert job(steps, 100, GITHUB_STEP_SUMMARY=str(summary), GITHUB_SHA="a")[0] == [0, 0, 0, 0]
    assert "limits hold" in summary.read_text() and "at most" not in summary.read_text()
    assert job(steps, 130, GITHUB_STEP_SUMMARY=str(summary), GITHUB_SHA="b")[0] == [0, 0, 0, 0]
    assert "### GPU memory: peak allocated +30.00 MiB" in summary.read_text()
    codes, _ = job(steps[:3], 400, GITHUB_STEP_SUMMARY=str(summary), GITHUB_SHA="c")
    assert codes == [0, 0, 1] and "1 of 1 limits failed" in summary.read_text()
    # A workflow command in the summary would annotate nothing.
    assert "::error" not in summary.read_text()
    assert "3 runs" in vtrace("history", tmp_path / "memory" / "history.db").stdout


def test_gitlab(job, tmp_path):
    steps = gitlab_steps()
    assert job(steps, 100, CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main")[0] == [0] * 5
    assert job(steps, 130, CI_COMMIT_BRANCH="x", CI_DEFAULT_BRANCH="main")[0] == [0] * 5
    assert "+30.00 MiB" in (tmp_path / "memory.md").read_text() and "<testcase" in (tmp_path / "memory.xml").read_text()
    assert job(steps[:4], 400, CI_COMMIT_BRANCH="x", CI_DEFAULT_BRANCH="main")[0] == [0, 0, 0, 1]
