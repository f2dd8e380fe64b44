# SPDX-License-Identifier: MIT
"""Tensors under keys that are somebody's data, in dictionaries of a variable, a module and an optimizer's state."""
import torch


def main():
    model = torch.nn.Linear(30, 30).cuda()
    model.tables = {"person-4711": torch.zeros(40, 40, device="cuda")}
    users = {"person-4711": {"deep": [torch.zeros(50, 50, device="cuda")]}, 7: torch.zeros(60, 60, device="cuda")}
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.state["person-4711"] = {"seen": torch.zeros(70, 70, device="cuda")}
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(3, 30, device="cuda")).sum().backward()
        optimizer.step()
    return users


if __name__ == "__main__":
    main()
