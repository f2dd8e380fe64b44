# SPDX-License-Identifier: MIT
"""SGLang on a model that is a configuration alone: sizes its cache, serves prompts, writes what is whose.

    python serve_sglang.py MODEL_FOLDER TRUTH.json eager|graphs|http [OPTIONS of sglang.Engine as JSON]

The engine allocates in a child for each device.  Children import this file again: a thread in them waits to be asked
for the truth, and those that have a cache answer (oracle.py).
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from oracle import is_a, tensors, truth
from serving import NEW_TOKENS, NR_PROMPTS, PROMPT_TOKENS, ask, free_port, path_of_rank, wait_ready

PLACE = "TRUTH_OF_SGLANG"
WRITTEN_S, POLL_S = 60, 0.2
SERVER = "server"
# Without these its kernels are FlashInfer's, which it compiles by dozens.
OPTIONS = {"load_format": "dummy", "skip_tokenizer_init": True, "context_length": 2048, "attention_backend": "triton",
           "sampling_backend": "pytorch", "grammar_backend": "none", "log_level": "info"}


def write_truth(path):
    from sglang.srt.mem_cache.memory_pool import KVCache
    devices = set()

    def cache(thing):
        found = list(tensors([thing.k_buffer, thing.v_buffer])) if is_a(thing, KVCache) else []
        devices.update(tensor.device.index for tensor in found)
        return found

    found = truth(cache)
    if found["kv cache"]:
        path = path_of_rank(path, *devices)
        path.with_suffix(".part").write_text(json.dumps(found))
        path.with_suffix(".part").rename(path)


def wait_to_be_asked():
    path = pathlib.Path(os.environ[PLACE])
    while not path.with_suffix(".asked").exists():
        time.sleep(POLL_S)
    write_truth(path)


if __name__ == "__mp_main__":
    threading.Thread(target=wait_to_be_asked, daemon=True).start()


def ask_for_truth(path, options):
    paths = [path_of_rank(path, rank) for rank in range(options.get("tp_size", 1))]
    path.with_suffix(".asked").touch()
    began = time.monotonic()
    while not all(path.exists() for path in paths):
        if time.monotonic() - began > WRITTEN_S:
            sys.exit("the engine did not say what is whose")
        time.sleep(POLL_S)


def prompts():
    return [list(range(1, PROMPT_TOKENS)) for _ in range(NR_PROMPTS)]


def sampling():
    return {"max_new_tokens": NEW_TOKENS, "ignore_eos": True, "temperature": 0}


def serve_offline(folder, options, path):
    import sglang
    began = time.monotonic()
    engine = sglang.Engine(model_path=folder, **options)
    print(f"ready after {time.monotonic() - began:.0f} s", flush=True)
    answers = engine.generate(input_ids=prompts(), sampling_params=sampling())
    ask_for_truth(path, options)
    engine.shutdown()
    return [len(answer["output_ids"]) for answer in answers]


def words(options):
    for name, value in options.items():
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield str(value)


def complete(port, prompt):
    return len(ask(port, "/generate", {"input_ids": prompt, "sampling_params": sampling()})["output_ids"])


def serve_http(folder, options, path):
    port = free_port()
    server = subprocess.Popen([sys.executable, __file__, SERVER, "--model-path", folder, "--host", "127.0.0.1",
                               "--port", str(port), "--skip-server-warmup", *words(options)])
    try:
        print(f"ready after {wait_ready(server, port):.0f} s", flush=True)
        with concurrent.futures.ThreadPoolExecutor(NR_PROMPTS) as pool:
            lengths = list(pool.map(complete, [port] * NR_PROMPTS, prompts()))
        ask_for_truth(path, options)
    finally:
        server.terminate()
        server.wait()
    return lengths


def run_server(arguments):
    """What `python -m sglang.launch_server` does."""
    from sglang.launch_server import run_server as run
    from sglang.srt.server_args import prepare_server_args
    run(prepare_server_args(arguments))


def main():
    if sys.argv[1] == SERVER:
        run_server(sys.argv[2:])
        return
    folder, output, how, *rest = sys.argv[1:]
    os.environ[PLACE] = output
    options = {**OPTIONS, **json.loads(rest[0] if rest else "{}")}
    if how != "graphs":
        options["disable_cuda_graph"] = True
    lengths = (serve_http if how == "http" else serve_offline)(folder, options, pathlib.Path(output))
    print(f"served {len(lengths)} prompts, {set(lengths)} tokens each", flush=True)


if __name__ == "__main__":
    main()
