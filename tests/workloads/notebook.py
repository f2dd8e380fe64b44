# SPDX-License-Identifier: MIT
"""Runs a notebook in a Jupyter kernel, as its own child: a training, and a cell whose result IPython keeps."""
import nbformat
from nbclient import NotebookClient

CELLS = [
    "import torch\nimport torch.nn as nn",
    """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(256, 1024)
        self.down = nn.Linear(1024, 256)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))
""",
    "model = Net().cuda()\noptimizer = torch.optim.AdamW(model.parameters())",
    """kept = []
for step in range(3):
    batch = torch.randn(512, 256, device='cuda')
    out = model(batch)
    out.pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(out.detach())
""",
    "table = torch.zeros(16 << 20, device='cuda')\ntable.sum()",
]

notebook = nbformat.v4.new_notebook(
    cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS],
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
