# SPDX-License-Identifier: MIT
"""One rank of a job whose other ranks are not there: nothing waits for them (VTRACE_SIM_RANK=RANK/RANKS).

Run when PyTorch's libraries are being loaded, mostly before torch.distributed.  Groups keep their size and this process
its place in them.  The store that ranks meet in has an answer to every question, and NCCL's stand-in waits for nobody;
Gloo, which opens connections, is replaced by PyTorch's own group that does nothing.
"""


def install():
    import functools
    import importlib.machinery
    import inspect
    import os
    import sys

    name = "torch.distributed.distributed_c10d"
    unique_id = bytes(128)  # of NCCL: what a rank asks the first one for
    stores = []  # PyTorch keeps their C++ halves alone
    rank, nr_ranks = map(int, os.environ["VTRACE_SIM_RANK"].split("/"))

    def make_store(base):
        class Store(base):
            def __init__(self):
                super().__init__()
                self.values, self.sums = {}, {}

            def set(self, key, value):
                self.values[key] = value

            def get(self, key):
                return self.values.get(key, unique_id)

            def compare_set(self, key, expected, desired):
                return self.values.setdefault(key, desired)

            def add(self, key, number):
                self.sums[key] = self.sums.get(key, 0) + number
                return self.sums[key]

            def check(self, keys):
                return True

            def wait(self, keys, timeout=None):
                pass

            def deleteKey(self, key):
                return self.values.pop(key, None) is not None

            def getNumKeys(self):
                return len(self.values)

        stores.append(Store())
        return stores[-1]

    def without_gloo(backend):
        if backend is None:
            return "cpu:fake,cuda:nccl"
        return str(backend).replace("gloo", "fake")

    def replace(module, function, arguments_of):
        original = getattr(module, function)
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*positional, **named):
            given = signature.bind(*positional, **named).arguments
            import torch.testing._internal.distributed.fake_pg  # noqa: F401  registers the group that does nothing
            given.update(arguments_of(given))
            return original(**given)

        # Others may have taken it by its name already, torch.distributed among them.
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(function) is original:
                setattr(other, function, call)

    def patch(module):
        replace(module, "init_process_group",
                lambda given: {"backend": without_gloo(given.get("backend")), "init_method": None, "rank": rank,
                               "world_size": nr_ranks, "store": make_store(module.Store)})
        replace(module, "new_group",
                lambda given: {"backend": without_gloo(given["backend"])} if given.get("backend") else {})

    def patch_late(module):
        """It was imported before this ran: by a thread, while the main one did no more than wait for that."""
        is_whole = not getattr(module.__spec__, "_initializing", False)
        if is_whole:
            patch(module)
        if not is_whole or module.is_initialized():
            os.write(2, b"vtrace: rank=: torch.distributed was in use before the other ranks could be replaced: "
                     b"it waits for them\n")

    class Finder:
        @classmethod
        def find_spec(cls, wanted, path=None, target=None):
            if wanted != name:
                return None
            spec = importlib.machinery.PathFinder.find_spec(wanted, path)
            if spec is None:
                return None
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                patch(module)

            spec.loader.exec_module = exec_module
            return spec

    # Threads that look into the store while the program ends.
    os.environ.setdefault("TORCH_NCCL_ENABLE_MONITORING", "0")
    os.environ.setdefault("TORCH_NCCL_DUMP_ON_TIMEOUT", "0")
    if name in sys.modules:
        patch_late(sys.modules[name])
    else:
        sys.meta_path.insert(0, Finder)


install()
