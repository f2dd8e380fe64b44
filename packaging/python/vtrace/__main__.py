# SPDX-License-Identifier: MIT
"""`vtrace` and `python -m vtrace`: becomes the command."""
import os
import sys

from vtrace import command


def main():
    os.execv(command(), ["vtrace", *sys.argv[1:]])


if __name__ == "__main__":
    main()
