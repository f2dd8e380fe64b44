# SPDX-License-Identifier: MIT
"""vLLM's server on a model that is a configuration alone: prompts by HTTP, at the same time, then what is whose.

    python serve_http.py MODEL_FOLDER TRUTH.json [OPTION of `vllm serve`...]

The server and its engine are processes of their own, as users start them.  The oracle is asked through the server
(/collective_rpc, a development mode).
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from serving import NEW_TOKENS, NR_PROMPTS, PROMPT_TOKENS, ask, free_port, wait_ready

VOCABULARY = 4096
HERE = pathlib.Path(__file__).resolve().parent


def write_tokenizer(folder):
    """A word for each number: the server does not start without one, and prompts are tokens anyway."""
    vocabulary = {f"w{i}": i for i in range(VOCABULARY)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": {"type": "Whitespace"},
        **dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast",
                                                              "unk_token": "w0"}))


def start(model, port, options):
    command = ["-m", "vllm.entrypoints.cli.main", "serve", model, "--load-format", "dummy", "--enforce-eager",
               "--max-model-len", "2048", "--host", "127.0.0.1", "--port", str(port), "--served-model-name", "model",
               "--worker-extension-cls", "oracle.Extension", *options]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "VLLM_SERVER_DEV_MODE": "1",
                   "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    return subprocess.Popen([sys.executable, *command], env=environment)


def complete(port):
    answer = ask(port, "/v1/completions", {"model": "model", "prompt": list(range(1, PROMPT_TOKENS)), "temperature": 0,
                                           "max_tokens": NEW_TOKENS, "ignore_eos": True})
    return answer["usage"]["completion_tokens"]


def main():
    folder, output, *options = sys.argv[1:]
    write_tokenizer(pathlib.Path(folder))
    port = free_port()
    server = start(folder, port, options)
    try:
        print(f"ready after {wait_ready(server, port):.0f} s", flush=True)
        with concurrent.futures.ThreadPoolExecutor(NR_PROMPTS) as pool:
            lengths = list(pool.map(complete, [port] * NR_PROMPTS))
        ask(port, "/collective_rpc", {"method": "write_truth", "args": [output]})
        print(f"served {len(lengths)} prompts, {set(lengths)} tokens each", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
