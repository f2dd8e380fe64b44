# SPDX-License-Identifier: MIT
"""Count the parameters of what transformers builds where nobody says a size.

    default_models.py [KIND...]

Every kind with its default configuration: without a head, and with each that it has of HEADS. A line of the output is
a JSON object: "kind", "class", "config" (the text that save_pretrained writes), "counted" (by PyTorch on its meta
device) and "built" (by the builder of `vtrace estimate --run`, from that text; else "refused"); or "error" where the
library cannot build it.
"""
import contextlib
import json
import math
import pathlib
import signal
import sys
import tempfile

import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto as auto

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "analyzer" / "planner"))

import model_run  # noqa: E402

HEADS = {"CAUSAL_LM": "CausalLM", "MASKED_LM": "MaskedLM", "SEQ_TO_SEQ_CAUSAL_LM": "Seq2SeqLM",
         "SPEECH_SEQ_2_SEQ": "SpeechSeq2Seq", "IMAGE_TEXT_TO_TEXT": "ImageTextToText",
         "IMAGE_CLASSIFICATION": "ImageClassification"}
LIMIT_S = 300


def models_of(kinds):
    """Kind, name of the class, and the class of transformers that builds it of each."""
    known = {f"AutoModelFor{name}": getattr(auto, f"MODEL_FOR_{head}_MAPPING_NAMES") for head, name in HEADS.items()}
    found = {(kind, classes if isinstance(classes, str) else classes[0]): built_by
             for built_by, mapping in ({"AutoModel": auto.MODEL_MAPPING_NAMES} | known).items()
             for kind, classes in mapping.items() if not kinds or kind in kinds}
    return sorted((*model, built_by) for model, built_by in found.items())


def count(model):
    return sum(math.prod(parameter.shape) for parameter in model.parameters())


def counted(kind, name, built_by):
    """The configuration as it is written beside the weights, and the parameters of the model itself."""
    config = AutoConfig.for_model(kind)
    config.architectures = [name]
    with torch.device("meta"):
        model = getattr(transformers, built_by).from_config(config)
    return config.to_json_string(), count(model)


def built(text):
    settings = model_run.Settings(["mode=infer", "batch=1", "seq=64", "dtype=bf16", "attention=sdpa"])
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(text)
        return count(model_run.open_model(str(config), settings).model)


def measured(model):
    """What is raised says which of the two cannot."""
    key, result = "error", {}
    signal.alarm(LIMIT_S)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # which some print into
            result["config"], result["counted"] = counted(*model)
            key = "refused"
            result["built"] = built(result["config"])
    except Exception as reason:  # whatever a model's code raises
        result |= {key: f"{type(reason).__name__}: {reason}".replace("\n", " ")[:200]}
    signal.alarm(0)
    return result


def late(*_):
    raise TimeoutError


def main():
    signal.signal(signal.SIGALRM, late)
    for model in models_of(sys.argv[1:]):
        print(json.dumps({"kind": model[0], "class": model[1]} | measured(model)), flush=True)


if __name__ == "__main__":
    main()
