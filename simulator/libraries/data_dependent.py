# SPDX-License-Identifier: MIT
"""Operators whose result has as many rows as their input's values say, and those that check what a kernel reports.

The simulator's kernels compute nothing: the counts that these operators copy to the host would be what some earlier
tensor left in that memory, and a stale count is a size of 10^18 or an exception. So they answer as if every value were
zero, which fresh memory of the simulated device is. Where control values know better (control_values.py), the result is
replaced by the right one afterwards.

The status of a factorisation ("info") is written by a kernel as well: it is made zero, success, before it is checked.

Loaded by libvtrace-simulator.so into the client's interpreter; its frames are named <vtrace-simulator>.
"""
import ctypes
import sys
import warnings


def recorder_note():
    """Tells the recorder that a size was taken from zeros, if there is a recorder (preload/zero_reads.h)."""
    try:
        note = ctypes.PyDLL(None).vtrace_zeros_read
    except (AttributeError, OSError):
        return None
    note.argtypes, note.restype = [ctypes.c_uint64], None
    return note


def noted(torch, note, function):
    """The same operator; where control values are active they know better."""
    active_modes = torch._C._len_torch_dispatch_stack

    def answer(*args, **kwargs):
        if not active_modes():
            note(0)
        return function(*args, **kwargs)
    return answer


def answers(torch):
    empty, zeros = torch.empty, torch.zeros

    def count(tensor):
        """Of zeros: one value, unless there is none."""
        return 1 if tensor.numel() else 0

    def indices(*shape, like):
        return zeros(shape, dtype=torch.int64, device=like.device)

    def nonzero(self):
        return indices(0, self.dim(), like=self)

    def unique2(self, sorted=True, return_inverse=False, return_counts=False):
        n = count(self)
        return (empty(n, dtype=self.dtype, device=self.device),
                indices(*(self.shape if return_inverse else (0,)), like=self),
                indices(n if return_counts else 0, like=self))

    def unique_dim(self, dim, sorted=True, return_inverse=False, return_counts=False):
        shape = list(self.shape)
        length, shape[dim] = shape[dim], min(1, shape[dim])
        return (empty(shape, dtype=self.dtype, device=self.device),
                indices(length if return_inverse else 0, like=self),
                indices(shape[dim] if return_counts else 0, like=self))

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        if dim is None:
            return unique2(self, True, return_inverse, return_counts)
        return unique_dim(self, dim, True, return_inverse, return_counts)

    def repeat_interleave(repeats, *, output_size=None):
        return zeros(output_size or 0, dtype=repeats.dtype, device=repeats.device)

    def bincount(self, weights=None, minlength=0):
        dtype = torch.int64
        if weights is not None:
            dtype = torch.float32 if weights.dtype is torch.float32 else torch.float64
        return zeros(max(count(self), minlength), dtype=dtype, device=self.device)

    def linalg_check_errors(info, api_name, *, is_matrix):
        """Whichever library was to write it: some, like MAGMA, are in the wheel itself."""
        info.zero_()

    return {
        "_linalg_check_errors": linalg_check_errors,
        "nonzero": nonzero,
        "_unique2": unique2,
        "unique_dim": unique_dim,
        "unique_consecutive": unique_consecutive,
        "repeat_interleave.Tensor": repeat_interleave,
        "bincount": bincount,
    }


def install(torch):
    library = torch.library.Library("aten", "IMPL")
    note = recorder_note()
    with warnings.catch_warnings():
        # "Overriding a previously registered kernel": that is the purpose.
        warnings.simplefilter("ignore")
        for name, function in answers(torch).items():
            if note and name != "_linalg_check_errors":
                function = noted(torch, note, function)
            library.impl(name, function, "CUDA")
    return library


if "torch" in sys.modules:
    # The registration lasts as long as this object.
    kept = install(sys.modules["torch"])
