# SPDX-License-Identifier: MIT
"""Run a notebook as people do without a browser: python -m notebook_client FILE."""
import sys


def run(path):
    import nbformat
    from nbclient import NotebookClient
    NotebookClient(nbformat.read(path, as_version=4), timeout=600, kernel_name="python3").execute()


if __name__ == "__main__":
    run(sys.argv[1])
