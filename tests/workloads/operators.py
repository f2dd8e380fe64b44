# SPDX-License-Identifier: MIT
"""Run each operator of a group once and say which failed: operators.py [sorting|linalg|recurrent]..."""
import sys

import torch
from torch import nn


def normal(*shape):
    return torch.randn(*shape, device="cuda")


def below(limit, *shape):
    return torch.randint(0, limit, shape, device="cuda")


def dirty(megabytes=64):
    """Leave numbers in the memory that the next tensors get, as any program does."""
    small = [torch.full((256,), 1.7).cuda() for _ in range(64)]
    large = torch.full((megabytes << 18,), 1.7).cuda()
    del small, large


def embedding():
    nn.Embedding(5000, 256).cuda()(below(5000, 4096)).sum().backward()


def indexing():
    parameter = nn.Parameter(normal(1000, 8))
    parameter[below(1000, 5000)].sum().backward()


def recur(kind, **options):
    model = kind(32, 64, **options).cuda()
    out, _ = model(normal(10, 4, 32))
    out.sum().backward()
    directions = 2 if options.get("bidirectional") else 1
    assert out.shape[-1] == directions * (options.get("proj_size") or 64)
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())
    torch.optim.SGD(model.parameters(), 0.1).step()


def identity(*batch):
    return torch.eye(8, device="cuda").expand(*batch, 8, 8).contiguous()


# What goes through CUB, which chooses its kernels by the architecture that a kernel was compiled for.
SORTING = {
    "sort": lambda: normal(10000).sort(),
    "sort segments": lambda: normal(64, 10000).sort(-1),
    "argsort": lambda: torch.argsort(below(10, 5000), stable=True),
    "topk": lambda: normal(8, 32000).topk(50),
    "cumsum": lambda: normal(1000000).cumsum(0),
    "randperm": lambda: torch.randperm(100000, device="cuda"),
    "index_put": lambda: normal(1000, 8).index_put_((below(1000, 5000),), normal(5000, 8), accumulate=True),
    "multinomial": lambda: torch.multinomial(torch.rand(8, 32000, device="cuda"), 1),
    "embedding backward": embedding,
    "indexing backward": indexing,
}

# What reads back a status from the device.
LINALG = {
    "cholesky": lambda: torch.linalg.cholesky(identity()),
    "cholesky batch": lambda: torch.linalg.cholesky(identity(3)),
    "cholesky_inverse": lambda: torch.cholesky_inverse(identity()),
    "inv": lambda: torch.linalg.inv(identity()),
    "inv batch": lambda: torch.linalg.inv(identity(5)),
    "solve": lambda: torch.linalg.solve(identity(), normal(8, 2)),
    "solve batch": lambda: torch.linalg.solve(identity(5), normal(5, 8, 2)),
    "lu": lambda: torch.linalg.lu_factor(identity()),
    "ldl": lambda: torch.linalg.ldl_factor(identity()),
    "det": lambda: torch.linalg.det(identity()),
    "slogdet": lambda: torch.linalg.slogdet(identity()),
    "qr": lambda: torch.linalg.qr(identity()),
    "svd": lambda: torch.linalg.svd(normal(32, 32)),
    "svd tall": lambda: torch.linalg.svd(normal(600, 8), full_matrices=False),
    "svd batch": lambda: torch.linalg.svd(normal(4, 16, 16)),
    "svdvals": lambda: torch.linalg.svdvals(normal(32, 32)),
    "eigh": lambda: torch.linalg.eigh(identity()),
    "eigh large": lambda: torch.linalg.eigh(normal(600, 600)),
    "eigh batch": lambda: torch.linalg.eigh(identity(3)),
    "eigvalsh": lambda: torch.linalg.eigvalsh(identity()),
    "lstsq": lambda: torch.linalg.lstsq(normal(16, 8), normal(16, 2)),
    "pinv": lambda: torch.linalg.pinv(normal(16, 8)),
}

# What cuDNN lays out in one piece of memory.
RECURRENT = {
    "lstm": lambda: recur(nn.LSTM),
    "lstm layers": lambda: recur(nn.LSTM, num_layers=2, bidirectional=True, dropout=0.1),
    "lstm projection": lambda: recur(nn.LSTM, num_layers=2, proj_size=16),
    "lstm without bias": lambda: recur(nn.LSTM, bias=False),
    "gru": lambda: recur(nn.GRU, num_layers=2),
    "rnn": lambda: recur(nn.RNN, nonlinearity="relu"),
}

GROUPS = {"sorting": SORTING, "linalg": LINALG, "recurrent": RECURRENT}


def main():
    failed = 0
    for group in sys.argv[1:] or GROUPS:
        for name, operator in GROUPS[group].items():
            dirty()
            try:
                operator()
                torch.cuda.synchronize()
            except (RuntimeError, AssertionError) as error:
                failed += 1
                print(f"{name}: {str(error).splitlines()[0] if str(error) else error!r}")
    print(f"{failed} failed")


main()
