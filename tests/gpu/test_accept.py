# SPDX-License-Identifier: MIT
"""tests/gpu/accept on the simulator, so that it works on the day when there is a card."""
import subprocess
import sys

from recording import BUILD, SOURCE, clean_environment


def accept(card, results):
    command = [sys.executable, SOURCE / "tests" / "gpu" / "accept", "--simulate", card, "--results", results]
    return subprocess.run(command,
                          env=clean_environment({"VTRACE_BUILD": str(BUILD)}), capture_output=True, text=True,
                          timeout=540)


def test_the_simulator_is_accepted(tmp_path):
    done = accept("a10g-24g", tmp_path)
    page = (tmp_path / "nvidia-a10g.md").read_text()
    assert done.returncode == 0, done.stdout + done.stderr + page
    assert page.count("| ok |") >= 19 and "DIFFERS" not in page
    assert "PyTorch's recorder" in page and "ascending" in page
    profile = (tmp_path / "nvidia-a10g.ini").read_text()
    assert f"total_bytes = {22587 << 20}B\n" in profile and "nr_sms = 80\n" in profile


def test_no_card_is_exit_code_77(tmp_path):
    done = accept("no-such-card", tmp_path)
    assert done.returncode == 77
    assert list(tmp_path.iterdir()) == []
