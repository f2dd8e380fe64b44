# SPDX-License-Identifier: MIT
"""Contexts that hold memory of a card for hardly anything: `idle_contexts.py CASE`.

Ranks that work on cuda:1: `tensor` (its first tensor is on cuda:0), `touched` (cuda:0 is waited for, nothing is
allocated there), `fixed` (cuda:1 is chosen first).  `both` works on two cards.  Workers of a DataLoader: `worker` moves
samples to the card, `worker-fixed` leaves that to the main process, `worker-works` runs a model in the worker.
"""
import sys

import torch


class Samples(torch.utils.data.Dataset):
    def __init__(self, case):
        self.case = case

    def __len__(self):
        return 4

    def __getitem__(self, index):
        sample = torch.full((16,), float(index))
        if self.case == "worker":
            return sample.cuda().cpu()
        if self.case == "worker-works":
            return torch.nn.Linear(16, 16).cuda()(sample.cuda()).detach().cpu()
        return sample


def train(device):
    model = torch.nn.Linear(2048, 2048).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.ones(64, 2048, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize(device)


def load(case):
    loader = torch.utils.data.DataLoader(Samples(case), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    for batch in loader:
        batch.cuda()


def choose_device(case):
    if case == "tensor":
        torch.zeros(1, device="cuda")
    if case == "touched":
        torch.cuda.synchronize()
    torch.cuda.set_device(1)


def main(case):
    if case.startswith("worker"):
        load(case)
    elif case == "both":
        train("cuda:0")
        train("cuda:1")
    else:
        choose_device(case)
        train("cuda")


if __name__ == "__main__":
    main(sys.argv[1])
