# SPDX-License-Identifier: MIT
"""Starts vLLM once for each row of a list, in a process of its own, and keeps what it printed.

    python start_engines.py ROWS.json FOLDER

A row has a name, the config.json of a model, and options of vllm.LLM.  Importing the engine takes longest, so it is
done once: each row is a fork.  FOLDER/NAME.log has what the engine printed; a line of it is "ready" or "failed".
"""
import json
import os
import pathlib
import sys
import traceback

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import LLM  # noqa: E402
import vllm.v1.worker.gpu_worker  # noqa: E402, F401  which an engine would import by itself, each time anew


def start(row, model):
    try:
        LLM(model=str(model), load_format="dummy", skip_tokenizer_init=True, **row["options"])
    except BaseException:
        traceback.print_exc()
        return "failed"
    return "ready"


def main():
    rows, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    for row in rows:
        model = folder / f"{row['name']}-model"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_text(json.dumps(row["config"]))
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            with open(folder / f"{row['name']}.log", "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
                print(start(row, model), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
