# SPDX-License-Identifier: MIT
"""Looks at a page in a real browser (scripts/browser, tests/page/look.mjs)."""
import functools
import json
import os
import shutil
import subprocess

import pytest
from recording import SOURCE, TIMEOUT_S


@functools.cache
def tools():
    """(folder of packages, browser), or a skip; under CI a failure."""
    found = subprocess.run([str(SOURCE / "scripts" / "browser")], capture_output=True, text=True, timeout=TIMEOUT_S)
    if found.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(found.stderr.strip() or "no browser")
    return found.stdout.strip(), shutil.which("chromium-headless-shell") or shutil.which("chromium")


def look(path, *steps, fragment="", **options):
    """The results of the steps of look.mjs; no page may ask for anything or complain."""
    folder, browser = tools()
    wanted = {"url": f"file://{path}{fragment}", "steps": steps, **options}
    done = subprocess.run(["node", str(SOURCE / "tests" / "page" / "look.mjs"), folder, browser],
                          input=json.dumps(wanted), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["requests"] == [], seen["requests"]
    assert seen["errors"] == [], seen["errors"]
    return seen["results"]
