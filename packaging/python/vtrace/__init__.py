# SPDX-License-Identifier: MIT
"""Where the parts of vtrace are in this environment; the command itself is a program in C."""
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def command():
    """The path of the command `vtrace`."""
    return os.path.join(_FOLDER, "bin", "vtrace")


def library():
    """The path of the recorder, for LD_PRELOAD."""
    return os.path.join(_FOLDER, "lib", "vtrace", "libvtrace.so")
