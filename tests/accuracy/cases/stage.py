# SPDX-License-Identifier: MIT
"""What a case may say about itself.

In the run that is scored, watch() and head() do nothing and stage() only leaves a mark: what a stage holds is written
as text, so that no frame and no variable of ours tells the recorder anything.  In the run that finds out the truth
(oracle/main.py) an observer stands behind them.
"""
import ctypes
import sys
import time

CASES = {}
# What @case may be given; the command reads them without importing the file (cases are listed without PyTorch).
#   family, mode    words for the table
#   roles           {pattern of a module's path, or ":Class": owner or kind of activation}
#   functions       {qualified or plain name of a function: the same; "activations": which kind, nothing says}
#   heads           patterns of modules whose output is logits
#   hooks           False: do not watch modules and PyTorch's functions (what compiles itself would compile the hooks)
#   device          profile of the simulated device
#   env             environment of both runs
#   hard            True: in a style that nobody tuned for
#   needs           modules that must be installed
SECONDS_OF_AUTOGRAD = 0.2
_mark = getattr(ctypes.CDLL(None), "vtrace_mark", None)
_observer = None


def case(**options):
    def register(function):
        CASES[function.__name__] = (function, options)
        return function
    return register


def observe(observer):
    global _observer
    _observer = observer


def watch(*objects):
    """Models (nn.Module), optimizers (anything with `state` and `param_groups`)."""
    if _observer:
        _observer.watch(objects)


def stage(name, **held):
    """A named moment.  held: owner = expression over the caller's variables, evaluated by the observer alone."""
    if _observer:
        _observer.stage(name, held, sys._getframe(1))
    if _mark:
        _mark(name.encode())


def head(tensor):
    """The tensor is the output of a vocabulary's head that is no module."""
    if _observer:
        _observer.head(tensor)
    return tensor


def main():
    CASES[sys.argv[1]][0]()
    # Autograd's thread drops the results of torch.autograd.grad after it returned, and asks for the
    # interpreter to do it: one that ends meanwhile aborts the process.
    time.sleep(SECONDS_OF_AUTOGRAD)
