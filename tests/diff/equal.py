# SPDX-License-Identifier: MIT
"""Do equal runs differ by nothing?  Programs with threads and workers, again and again on a busy machine.

    equal [--runs N] [--busy N] [PROGRAM...]

Programs are those of tests/workloads/same_memory.py. Each run is compared with the first of its program. Exit 1: one
differs.
"""
import argparse
import collections
import contextlib
import pathlib
import subprocess
import sys
import tempfile

import pairs
from recording import PYTHON, WORKLOADS, vtrace

PROGRAMS = ("loader", "lengths", "threads")


@contextlib.contextmanager
def busy(nr):
    """Processes that take the processors from the runs."""
    running = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(nr)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def differences(folder, program, nr):
    """What is said of the runs that differ from the first."""
    text = (WORKLOADS / "same_memory.py").read_text()
    job = {"main": "same_memory.py", "files": {"same_memory.py": text}, "arguments": [program]}
    first, *others = pairs.run_all(folder, [job] * (nr + 1))
    assert first and all(others), f"{program} does not run: {folder / 'work' / 'output'}"
    for other in others:
        done = vtrace("diff", folder / first, folder / other, "--fail-on", "any")
        assert done.returncode in (0, 1), done.stderr
        if done.returncode:
            yield f"{first} {other}: {done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--runs", type=int, default=200, help="comparisons, of all programs together")
    parser.add_argument("--busy", type=int, default=6, help="processes that spin beside (default: 6)")
    options = parser.parse_args()
    shares = collections.Counter(options.programs[i % len(options.programs)] for i in range(options.runs))
    nr_different = 0
    with tempfile.TemporaryDirectory() as temporary, busy(options.busy):
        for program, nr in shares.items():
            found = list(differences(pathlib.Path(temporary), program, nr))
            print(f"{len(found)} of {nr} runs of {program} differ", *found, sep="\n      ", flush=True)
            nr_different += len(found)
    print(f"{nr_different} of {options.runs} equal runs differ")
    return 1 if nr_different or not options.runs else 0


if __name__ == "__main__":
    sys.exit(main())
