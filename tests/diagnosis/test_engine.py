# SPDX-License-Identifier: MIT
"""Findings about a serving engine speak in its flags, and its cache grows by what they say when it is started so.

The program is a stand-in in a file where vLLM has its worker; tests/engines does the same with vLLM.
"""
import json

import pytest

from recording import PYTHON, WORKLOADS, record, record_python, vtrace

REQUESTS, TOKENS = "trial-of-requests", "trial-of-tokens"


def started(folder, *arguments):
    folder.mkdir()
    recording = record_python(folder, "engine/vllm/v1/worker/trial.py", *map(str, arguments))
    assert recording.process.returncode == 0, recording.process.stderr
    return recording, int(recording.process.stdout.splitlines()[-1])


def found(recording, case):
    return next((f for f in recording.report()["findings"] if f["id"] == case), None)


@pytest.mark.parametrize("case, flag, large, small", (
    (REQUESTS, "--max-num-seqs", (1024, 2048), (256, 2048)),
    (REQUESTS, "--max-num-seqs", (1024, 2048, "counts"), (256, 2048, "counts")),
    (TOKENS, "--max-num-batched-tokens", (64, 16384), (64, 8192))))
def test_the_cache_grows_by_what_is_foretold(case, flag, large, small, tmp_path):
    recording, before = started(tmp_path / "large", *large)
    _, after = started(tmp_path / "small", *small)
    finding = found(recording, case)
    assert finding["fix"].startswith(flag + ":")
    assert finding["is_for_cache"] and finding["lowers_allocated_bytes"] == 0
    assert finding["saves_bytes"] == pytest.approx(after - before, rel=0.01)
    other = {REQUESTS: TOKENS, TOKENS: REQUESTS}[case]
    assert found(recording, other) is None
    text = vtrace("report", recording.database).stdout
    assert "cache +" in text[text.index("FINDINGS"):]


def test_a_program_that_is_no_engine_gets_no_flags(tmp_path):
    """The same passes in a file of another name."""
    copy = tmp_path / "trial.py"
    copy.write_text((WORKLOADS / "engine" / "vllm" / "v1" / "worker" / "trial.py").read_text())
    recording = record(tmp_path, PYTHON, copy, "1024", "2048")
    assert recording.process.returncode == 0, recording.process.stderr
    findings = json.loads(vtrace("report", recording.database, "--json").stdout)["findings"]
    assert not [f for f in findings if f["id"] in (REQUESTS, TOKENS) or f["is_for_cache"]]
