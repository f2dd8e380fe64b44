# SPDX-License-Identifier: MIT
"""A function that the recorder stands in front of runs also where its library has another name than PyTorch's."""
import subprocess
import sys

from recording import BUILD, LIBRARY, TIMEOUT_S, clean_environment

PROGRAM = """import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(library.call_evaluate(), library.call_evaluate(), library.call_next_sequence())"""


def test_function_is_found_beside_its_caller():
    library = BUILD / "tests" / "preload" / "libstranger.so"
    for preload in ("", str(LIBRARY)):
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=clean_environment({"LD_PRELOAD": preload}))
        assert done.stdout.split() == ["1", "2", "4711"], (preload, done.stdout, done.stderr)
