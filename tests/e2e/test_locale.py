# SPDX-License-Identifier: MIT
"""A program whose locale writes a comma where a number has its point: sizes are read as they were written."""
import shutil
import subprocess

import pytest

from recording import PYTHON, vtrace

MIB = 1 << 20
PROGRAM = """
import ctypes, locale
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
driver, total = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t()
assert driver.cuInit(0) == 0 and driver.cuDeviceTotalMem_v2(ctypes.byref(total), 0) == 0
print(total.value)
"""


@pytest.fixture
def comma(tmp_path):
    """The variables of a locale that need not be installed."""
    if not shutil.which("localedef"):
        pytest.skip("no localedef")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True,
                          text=True, check=False)
    if not (tmp_path / "de_DE.UTF-8").is_dir():
        pytest.skip(made.stderr)
    return {"LOCPATH": str(tmp_path)}


def test_the_size_of_a_card_has_a_point(comma, tmp_path):
    done = vtrace("run", "-q", "--simulate", "h100-80g,memory=24.5GiB", "--", PYTHON, "-c", PROGRAM, cwd=tmp_path,
                  env=comma)
    assert (done.returncode, done.stdout) == (0, f"{24 * 1024 * MIB + 512 * MIB}\n"), done.stderr
