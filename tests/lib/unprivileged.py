# SPDX-License-Identifier: MIT
"""Commands run as a user who is not root: root may read and write anywhere."""
import contextlib
import os
import pathlib
import subprocess
import tempfile

import pytest
from recording import BUILD, TIMEOUT_S, VTRACE

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def vtrace_as_nobody(*arguments):
    """Skips where that user cannot read the build."""
    def run(*command):
        command = [*([] if os.geteuid() else NOBODY), *map(str, command)]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=TIMEOUT_S)

    # Below a closed folder the command starts, as setpriv still may, and then finds nothing beside it.
    if run("test", "-r", BUILD / "libvtrace.so").returncode != 0:
        pytest.skip(f"another user cannot read {BUILD}")
    return run(VTRACE, *arguments)


@contextlib.contextmanager
def public_folder():
    """Anybody may read it and write into it (pytest's folders are closed to others)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        yield folder


def locked_folder(parent):
    """Anybody may look into it, only root may write."""
    folder = parent / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    return folder
