# SPDX-License-Identifier: MIT
"""Births of blocks, by PyTorch's own trace: the k-th allocation of a device is birth k.

The number of allocations so far is a clock that can be read at any moment; the trace, read once at the end, says which
address and size each had, and when it died on that clock.
"""
import bisect
from dataclasses import dataclass

import torch


@dataclass
class Birth:
    address: int
    requested: int
    death: int = -1  # births on this device when it was freed; -1: never
    is_library: bool = False  # cuBLAS gave it back when asked to


class Ledger:
    def __init__(self):
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python")
        self.devices = range(torch.cuda.device_count())
        self.births = [[] for _ in self.devices]
        self.at_address = [{} for _ in self.devices]
        self.read = [0 for _ in self.devices]
        self.of_library = [[] for _ in self.devices]  # stretches of the trace in which cuBLAS gave back
        self.clear_workspaces = torch._C._cuda_clearCublasWorkspaces

    def now(self):
        with torch._C.DisableTorchFunction():
            return tuple(torch._C._cuda_memoryStats(d)["allocation"]["all"]["allocated"] for d in self.devices)

    def close(self):
        """Read the trace; what dies when cuBLAS is asked for its workspaces is the library's."""
        torch.cuda.synchronize()
        self.clear_library()
        for device, trace in enumerate(torch.cuda.memory._snapshot()["device_traces"]):
            self._read(device, trace)

    def clear_library(self):
        """Ask cuBLAS to give its workspaces back, as programs may too."""
        before = [len(t) for t in torch.cuda.memory._snapshot()["device_traces"]]
        self.clear_workspaces()
        for device, trace in enumerate(torch.cuda.memory._snapshot()["device_traces"]):
            self.of_library[device].append((before[device], len(trace)))

    def _read(self, device, trace):
        births, live = self.births[device], {}
        for position, entry in enumerate(trace):
            if entry["action"] == "alloc":
                live[entry["addr"]] = len(births)
                self.at_address[device].setdefault(entry["addr"], []).append(len(births))
                births.append(Birth(entry["addr"], entry["size"]))
            elif entry["action"] == "free_completed" and entry["addr"] in live:
                birth = births[live.pop(entry["addr"])]
                birth.death = len(births)
                birth.is_library = any(first <= position < end for first, end in self.of_library[device])

    def find(self, device, address, now):
        """The birth whose block begins at an address, at a moment; None where there is none."""
        ordinals = self.at_address[device].get(address, ())
        place = bisect.bisect_left(ordinals, now) - 1
        return ordinals[place] if place >= 0 else None
