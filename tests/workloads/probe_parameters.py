# SPDX-License-Identifier: MIT
"""Parameters of unusual kinds in training: distributed tensors, lazy ones that a call made real; and a sub-interpreter.

Prints JSON as probe_names.py does.
"""
import ctypes
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import Shard, distribute_tensor

mark = ctypes.CDLL(None).vtrace_mark
expected = []
IN_ANOTHER = """
import ctypes
ctypes.CDLL(None).vtrace_mark(b"another")
for number in range(1000):
    str(number)
"""


class Wide(nn.Module):
    """A width that no other has: each tensor has a size of its own."""
    def __init__(self, width, mesh, is_trained=True):
        super().__init__()
        weight = torch.zeros(width, 1024, device="cuda")
        self.weight = nn.Parameter(distribute_tensor(weight, mesh, [Shard(0)]), requires_grad=is_trained)

    def forward(self, x):
        return x @ self.weight.full_tensor().T


def expect(size, *what):
    expected.append([size * 4, *what])


def distributed():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    torch.cuda.set_device(0)
    return dist.device_mesh.init_device_mesh("cuda", (1,))


def in_another_interpreter():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        try:
            import _interpreters as interpreters
        except ImportError:
            return
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, IN_ANOTHER)
    interpreters.destroy(interpreter)


def main():
    mesh = distributed()
    wide, frozen = Wide(600, mesh), Wide(500, mesh, is_trained=False)
    lazy = nn.LazyLinear(700, bias=False, device="cuda")
    optimizer = torch.optim.Adam([*wide.parameters(), *lazy.parameters()], foreach=False)
    x = torch.zeros(8, 1024, device="cuda")
    (wide(x).sum() + lazy(x).sum()).backward()
    optimizer.step()
    for holder, width in ("main: wide", 600), ("main: lazy", 700):
        expect(width * 1024, "parameter", "weight", holder)
        expect(width * 1024, "gradient", "weight", holder)
        expect(width * 1024, "optimizer", "weight.exp_avg", "main: optimizer")
    expect(500 * 1024, "parameter", "weight", "main: frozen")
    in_another_interpreter()
    mark(b"now")
    str(0)
    print(json.dumps(expected))
    dist.destroy_process_group()


main()
