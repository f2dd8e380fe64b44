# SPDX-License-Identifier: MIT
"""Numbers of a page as text (analyzer/page/format.ts): bytes in the words of reports, no unit of 1000 or 1024."""
import json
import shutil
import subprocess

import pytest
from browser import tools
from recording import SOURCE, TIMEOUT_S

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BYTES = {0: "0 B", KIB - 1: "1023 B", KIB: "1.00 KiB", MIB - 1: "1.00 MiB", GIB - KIB: "1.00 GiB",
         GIB - 6 * KIB: "1023.99 MiB", 8519680: "8.12 MiB", 8781824: "8.38 MiB", 67613522985: "62.97 GiB"}
MICROSECONDS = {7: "7 µs", 999.6: "1.00 ms", 999_400: "999 ms", 999_600: "1.00 s", 1_234_567: "1.23 s",
                9_996_000: "10.0 s", 59_960_000: "1 min 0 s", 72_000_000: "1 min 12 s", 3_599_600_000: "1 h 0 min",
                7_500_000_000: "2 h 5 min"}


@pytest.mark.parametrize("function, rows", (("bytes", BYTES), ("duration", MICROSECONDS)))
def test_numbers(function, rows):
    tools()
    if not shutil.which("esbuild"):
        pytest.skip("no esbuild")
    values = json.dumps(list(rows))
    source = f'import {{ {function} as text }} from "./format"; console.log(JSON.stringify({values}.map(text)))'
    bundle = subprocess.run(["esbuild", "--bundle", "--platform=node"], input=source, cwd=SOURCE / "analyzer" / "page",
                            capture_output=True, text=True, timeout=TIMEOUT_S)
    assert bundle.returncode == 0, bundle.stderr
    done = subprocess.run(["node"], input=bundle.stdout, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert json.loads(done.stdout) == list(rows.values())
