# SPDX-License-Identifier: MIT
"""Run a case under observation and write the truth about each birth.

    python oracle/main.py FILE CASE OUTPUT
"""
import json
import pathlib
import runpy
import sys

FILE, CASE, OUTPUT = sys.argv[1:4]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(pathlib.Path(FILE).resolve().parent)]

import stage  # noqa: E402
from labels import label_births  # noqa: E402
from observer import Observer  # noqa: E402


def main():
    sys.argv = [FILE, CASE]
    runpy.run_path(FILE, run_name="case")
    function, options = stage.CASES[CASE]
    observer = Observer(options)
    stage.observe(observer)
    with observer:
        function()
    truth = label_births(observer)
    pathlib.Path(OUTPUT).write_text(json.dumps(truth))


main()
