# SPDX-License-Identifier: MIT
"""Many runs of planned_run.py, with one start of PyTorch.

Each line of the input is a JSON object: "values" (a configuration) and "options" (words of planned_run.py). It is run
in a child of its own, whose device has seen nothing before, and becomes a line of the output in the same order: the
peaks that planned_run.py prints, or "error".
"""
import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile

# What most of them import, and is most of what one takes: torch._dynamo is for the first step of an optimizer.
import torch._dynamo  # noqa: F401
import transformers.generation  # noqa: F401
import transformers.models.llama.modeling_llama  # noqa: F401

import planned_run

with contextlib.suppress(ImportError):  # for --lora alone
    import peft.tuners.lora  # noqa: F401

LIMIT_S = 300


def run(row, file):
    """In the child: what becomes of one row, into the file."""
    signal.alarm(LIMIT_S)
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config.json"
            config.write_text(json.dumps(row["values"]))
            result = planned_run.measured(planned_run.parse([str(config), *map(str, row["options"])]))
    except BaseException as reason:  # whatever a model's code raises
        result = {"error": f"{type(reason).__name__}: {reason}"[:300]}
    file.write(json.dumps(result))
    file.close()


def main():
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            run(json.loads(line), os.fdopen(write, "w"))
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as file:
            result = file.read()
        _, status = os.waitpid(child, 0)
        print(result or json.dumps({"error": f"ended by {status}"}), flush=True)


if __name__ == "__main__":
    main()
