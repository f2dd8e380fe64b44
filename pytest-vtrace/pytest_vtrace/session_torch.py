# SPDX-License-Identifier: MIT
"""PyTorch in the session's own process, which imports the test files but runs no marked test.

Where PyTorch's NVIDIA libraries are not installed, the stubs that `vtrace run --simulate` has for its programs take
their place. The session gets no device: what is not recorded is not simulated either.
"""
import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys

SHOW = "import os; print(os.environ.get('VTRACE_SIM_STUBS', ''), os.environ.get('LD_LIBRARY_PATH', ''), sep=os.pathsep)"
DEVICE = ("libcuda.so", "libnvidia-ml.so")  # a session with these would see a GPU


def has_libraries():
    """Whether PyTorch, if it is there, finds its libraries: asked as it does itself."""
    found = importlib.util.find_spec("torch")
    if not found or not found.origin:
        return True
    library = pathlib.Path(found.origin).parent / "lib" / "libtorch_global_deps.so"
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return not library.exists()
    return True


def load(folder):
    for library in sorted(pathlib.Path(folder).glob("lib*.so.*")):
        if not library.name.startswith(DEVICE):
            try:
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                pass  # the import of PyTorch says which one it misses


def make_importable(vtrace, profile, folder):
    """Before the test files are imported.  `folder` takes what `vtrace run` may leave."""
    if "torch" in sys.modules or has_libraries():
        return
    done = subprocess.run([vtrace, "run", "-q", "-o", os.path.join(folder, "run.db"), "--simulate", profile, "--",
                           sys.executable, "-c", SHOW], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    for name in dict.fromkeys(done.stdout.strip().split(os.pathsep)) if done.returncode == 0 else ():
        if name:
            load(name)
