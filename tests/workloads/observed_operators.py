# SPDX-License-Identifier: MIT
"""Operators whose tensors are known; writes what each was given and returned, by storage address."""
import json
import os
import sys
import threading

import torch
from torch.profiler import record_function

facts = {"calls": {}, "threads": {}}


def address(tensor):
    return tensor.untyped_storage().data_ptr() if tensor.is_cuda else None


def flat(values):
    """[position, element, address] of the device tensors of a call, in order."""
    found = []
    for position, value in enumerate(values):
        elements = value if isinstance(value, (list, tuple)) else [value]
        found += [[position, element, address(tensor)] for element, tensor in enumerate(elements)
                  if isinstance(tensor, torch.Tensor) and tensor.is_cuda]
    return found


def call(label, name, function, *inputs):
    """Calls it inside a range; `inputs` are the operator's arguments in the order of its schema."""
    given = flat(inputs)
    with record_function(label):
        results = function()
    returned = list(results) if isinstance(results, tuple) else [results]
    facts["calls"][label] = {"name": name, "given": given, "returned": flat(returned)}
    return results


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def forward_calls():
    a, b, c = (torch.randn(64, 64).to("cuda") for _ in range(3))
    index = torch.zeros(4, dtype=torch.long, device="cuda")
    host = torch.randn(64, 64)
    call("matrix product", "aten::addmm", lambda: torch.addmm(a, b, c), a, b, c)
    call("in place", "aten::add_", lambda: a.add_(b), a, b)
    call("view", "aten::view", lambda: a.view(4096), a)
    call("list", "aten::cat", lambda: torch.cat([a, b, c]), [a, b, c])
    call("two results", "aten::topk", lambda: tuple(torch.topk(a, 3)), a)
    call("optional", "aten::clamp", lambda: torch.clamp(a, None, b), a, None, b)
    call("list of optionals", "aten::index_put_", lambda: torch.index_put_(a, (index, index), b[0, :4]),
         a, [index, index], b)
    call("from the host", "aten::copy_", lambda: a.copy_(host), a)
    call("to the device", "aten::_to_copy", lambda: host.to("cuda"), host)
    call("lists", "aten::_foreach_add_", lambda: torch._foreach_add_([a, b], [c, c]) is None, [a, b], [c, c])
    call("nothing on the device", "aten::add", lambda: host + host, host, host)
    call("written in Python", "Doubled", lambda: Doubled.apply(a.requires_grad_()) is None, a)


def again():
    """The same address, another allocation."""
    first = torch.empty(1 << 20, device="cuda")
    call("first", "aten::neg", lambda: first.neg() is None, first)
    facts["first"] = address(first)
    del first
    second = torch.empty(1 << 20, device="cuda")
    facts["second"] = address(second)
    call("second", "aten::neg", lambda: second.neg() is None, second)


def backward():
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    y = torch.randn(64, 64, device="cuda")
    with record_function("forward"):
        loss = torch.mm(x, y).sum()
    with record_function("backward"):
        loss.backward()


def out_of_memory():
    x = torch.empty(1 << 10, device="cuda").expand(1 << 29, 1 << 10)
    with record_function("out of memory"):
        try:
            x.neg()
        except torch.cuda.OutOfMemoryError:
            pass


def elsewhere():
    x = torch.randn(64, device="cuda")

    def run():
        facts["threads"]["other"] = threading.get_native_id()
        call("other thread", "aten::exp", lambda: x.exp(), x)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    facts["threads"]["main"] = threading.get_native_id()


def child():
    """A fork child computes on the host under the observer that it inherited."""
    with record_function("child"):
        pid = os.fork()
        if not pid:
            os._exit(0 if (torch.ones(8) + 1).sum() == 16 else 1)
        facts["child"] = os.waitpid(pid, 0)[1]


def main():
    with torch.no_grad():
        torch.zeros(8).to("cuda")
        torch.zeros(8).to("cuda")
    forward_calls()
    again()
    backward()
    out_of_memory()
    elsewhere()
    child()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(facts, file)


main()
