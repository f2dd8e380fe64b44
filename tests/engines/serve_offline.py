# SPDX-License-Identifier: MIT
"""vLLM on a model that is a configuration alone: sizes its cache, serves a few prompts, writes what is whose.

    python serve_offline.py MODEL_FOLDER TRUTH.json eager|graphs [OPTIONS of vllm.LLM as JSON]

Runs the engine in this process, so that its own objects can be asked (oracle.py).
"""
import json
import os
import sys

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ["VLLM_USE_FLASHINFER_SAMPLER"] = "0"  # which compiles its kernels with nvcc when it is first used

from oracle import truth  # noqa: E402
from serving import NEW_TOKENS, NR_PROMPTS, PROMPT_TOKENS  # noqa: E402
from vllm import LLM, SamplingParams  # noqa: E402


def main():
    folder, output, how, *options = sys.argv[1:]
    engine = LLM(model=folder, skip_tokenizer_init=True, load_format="dummy", max_model_len=2048,
                 enforce_eager=how == "eager", **json.loads(options[0] if options else "{}"))
    prompts = [{"prompt_token_ids": list(range(1, PROMPT_TOKENS))} for _ in range(NR_PROMPTS)]
    answers = engine.generate(prompts, SamplingParams(max_tokens=NEW_TOKENS, detokenize=False, ignore_eos=True))
    lengths = {len(answer.outputs[0].token_ids) for answer in answers}
    with open(output, "w") as file:
        json.dump(truth(), file)
    print(f"served {len(answers)} prompts, {lengths} tokens each", flush=True)


if __name__ == "__main__":
    main()
