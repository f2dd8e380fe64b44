# SPDX-License-Identifier: MIT
"""vLLM on a model that is a configuration alone: sizes its cache, serves a few prompts, writes what is whose.

    python serve_offline.py MODEL_FOLDER TRUTH.json [eager]

Runs the engine in this process, so that its own objects can be asked: the parameters and buffers of its model, the
key-value cache of each attention layer.
"""
import gc
import json
import os
import sys

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ["VLLM_USE_FLASHINFER_SAMPLER"] = "0"  # which compiles its kernels with nvcc when it is first used

import torch  # noqa: E402
from vllm import LLM, SamplingParams  # noqa: E402

NR_PROMPTS, PROMPT_TOKENS, NEW_TOKENS = 8, 200, 16


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def truth():
    """Owner -> [[address, bytes] of each storage on the device]."""
    gc.unfreeze()  # vLLM takes what lives after start out of the collector's lists
    found = {"weights": set(), "buffers": set(), "kv cache": set()}
    for module in [o for o in gc.get_objects() if isinstance(o, torch.nn.Module)]:
        members = {"weights": module.parameters(recurse=False), "buffers": module.buffers(recurse=False),
                   "kv cache": tensors(getattr(module, "kv_cache", None))}
        for owner, tensor in ((owner, tensor) for owner in members for tensor in members[owner]):
            if tensor.is_cuda:
                storage = tensor.untyped_storage()
                found[owner].add((storage.data_ptr(), storage.nbytes()))
    return {owner: sorted(places) for owner, places in found.items()}


def main():
    folder, output = sys.argv[1:3]
    engine = LLM(model=folder, skip_tokenizer_init=True, load_format="dummy", max_model_len=2048,
                 enforce_eager="eager" in sys.argv[3:])
    prompts = [{"prompt_token_ids": list(range(1, PROMPT_TOKENS))} for _ in range(NR_PROMPTS)]
    answers = engine.generate(prompts, SamplingParams(max_tokens=NEW_TOKENS, detokenize=False, ignore_eos=True))
    lengths = {len(answer.outputs[0].token_ids) for answer in answers}
    with open(output, "w") as file:
        json.dump(truth(), file)
    print(f"served {len(answers)} prompts, {lengths} tokens each", flush=True)


if __name__ == "__main__":
    main()
