# SPDX-License-Identifier: MIT
"""Run a program under observation and write the truth about each birth, and how many steps were taken.

    python oracle/main.py FILE CASE OUTPUT
"""
import importlib.util
import json
import os
import pathlib
import sys

FILE, CASE, OUTPUT = sys.argv[1:4]
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "accuracy" / "oracle"), str(pathlib.Path(FILE).resolve().parent)]

import notebook_client  # noqa: E402
import stage  # noqa: E402
from loops import LoopObserver  # noqa: E402


def main():
    sys.argv = [FILE, CASE]
    load(FILE)
    function, options = stage.CASES[CASE]
    source = options.get("source")
    path = source and pathlib.Path(FILE).resolve().parent / source
    if path and path.suffix == ".ipynb":
        run_notebook(path, options)
        return
    observer = LoopObserver(options)
    stage.observe(observer)
    with observer:
        if path:
            exec(compile(path.read_text(), "<string>", "exec"), {"__name__": "__main__"})
        else:
            function()
    pathlib.Path(OUTPUT).write_text(json.dumps(observer.truth()))


def load(path):
    """As a module that can be imported: who compiles a function looks for its globals there."""
    spec = importlib.util.spec_from_file_location("case", path)
    sys.modules["case"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["case"])


def run_notebook(path, options):
    """The kernel is observed: what it begins with says so."""
    folder = pathlib.Path("ipython").resolve()
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "observe.py").write_text(
        f"import sys\nsys.path[:0] = {sys.path[:3]!r}\nimport kernel\nkernel.observe({options!r}, {OUTPUT!r})\n")
    os.environ["IPYTHONDIR"] = str(folder)
    notebook_client.run(path)


main()
