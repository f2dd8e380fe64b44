# SPDX-License-Identifier: MIT
"""Observes the kernel of a notebook, from its first cell to its end."""
import atexit
import json
import pathlib

from loops import LoopObserver


def observe(options, output):
    observer = LoopObserver(options)
    observer.__enter__()

    def finish():
        observer.__exit__(None, None, None)
        pathlib.Path(output).write_text(json.dumps(observer.truth()))

    atexit.register(finish)
