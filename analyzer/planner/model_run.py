# SPDX-License-Identifier: MIT
"""The run that `vtrace estimate --run` records: a model built from its configuration, with empty weights, and two
training steps, a forward or a generation of it.

    model_run.py MODEL RESULT LOG NAME=VALUE...     MODEL: a folder, a configuration, or FILE.py:FUNCTION
    model_run.py --versions                     what decides a run besides its arguments

RESULT becomes a JSON object: "class", "library", "parameters", "notes"; or "error". NAME=VALUE are the settings of the
plan, all of them; +NAME=VALUE is one that the user gave. What cannot be run is refused, not left out.
"""
import inspect
import json
import math
import os
import sys

LIBRARIES = ("torch", "transformers", "diffusers", "timm", "peft")

# Settings that are run; of the others only the standard value is.
RUN = {"mode", "batch", "seq", "new-tokens", "dtype", "autocast", "optimizer", "optimizer-loop", "accumulate",
       "checkpointing", "checkpointed-layers", "attention", "keep-logits", "lora", "kv-cache",
       # of the device, and not of the run
       "context", "cublas", "communication"}
VALUES = {"optimizer": ("adamw", "sgd", "momentum", "adafactor"), "checkpointing": ("none", "full"),
          "attention": ("sdpa", "eager"), "kv-cache": ("dynamic", "static", "none")}
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class Refused(Exception):
    """One line for the user."""


class Settings:
    def __init__(self, words):
        self.values, self.given = {}, set()
        for word in words:
            name, value = word.removeprefix("+").split("=", 1)
            self.values[name] = value
            if word.startswith("+"):
                self.given.add(name)
        self.is_training = self.values["mode"] == "train"
        self.batch, self.seq = int(self.values["batch"]), int(self.values["seq"])
        for name in sorted(self.given):
            if name not in RUN or self[name] not in VALUES.get(name, (self[name],)):
                raise Refused(f"--{name} {self.values[name]} cannot be run; without --run it is planned by formulas")

    def __getitem__(self, name):
        return self.values[name]

    def dtype(self, of_model):
        """That of the weights: asked for, else the configuration's, else bf16."""
        import torch

        if self["dtype"] == "auto":
            named = str(of_model or "").removeprefix("torch.")
            return getattr(torch, named) if named in DTYPES.values() else torch.bfloat16
        return getattr(torch, DTYPES[self["dtype"]])


def first_of(config, names, standard=None):
    """The first of these keys that the configuration or a part of it has."""
    parts = [config, *(getattr(config, part, None) for part in
                       ("vision_config", "audio_config", "encoder", "backbone_config", "text_config"))]
    for part in filter(None, parts):
        for name in names:
            if getattr(part, name, None) is not None:
                return getattr(part, name)
    return standard


class Transformers:
    """A model of transformers: the class that its configuration names, else that with a head for its kind."""

    AUTO = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq", "AutoModelForImageTextToText",
            "AutoModelForMaskedLM", "AutoModelForImageClassification", "AutoModelForAudioClassification", "AutoModel")
    IGNORED = ("dtype", "torch_dtype", "transformers_version", "quantization_config")
    name = "transformers"

    def __init__(self, values, settings):
        import torch
        from transformers import AutoConfig

        self.notes, self.settings = [], settings
        values = dict(values)
        dtype = settings.dtype(values.get("dtype") or values.get("torch_dtype"))
        if values.get("quantization_config"):
            self.notes.append("quantization_config is not run: weights have the type of --dtype")
        for name in self.IGNORED:
            values.pop(name, None)
        kind = values.pop("model_type")
        try:
            config = AutoConfig.for_model(kind, **values)
        except ValueError as reason:
            raise Refused(f"model_type {kind}: not known to transformers: {str(reason).splitlines()[0]}") from reason
        self.cls = self.class_of(config)
        # As AutoModel does: a class for the text alone takes that part of the configuration.
        text = config.get_text_config()
        if self.cls.config_class is not type(config) and self.cls.config_class is type(text):
            config = text
        attention = settings["attention"] if "attention" in settings.given else None
        with torch.device("cuda"):
            self.model = self.cls._from_config(config, dtype=dtype, attn_implementation=attention)
        self.config, self.dtype = self.model.config, dtype
        self.takes = inspect.signature(self.model.forward).parameters

    def class_of(self, config):
        import transformers

        for name in config.architectures or ():
            if hasattr(transformers, name):
                return getattr(transformers, name)
            self.notes.append(f"architectures names {name}, which transformers does not have")
        for name in self.AUTO:
            known = getattr(transformers, name)._model_mapping
            if type(config) in known:
                found = known[type(config)]
                return found[0] if isinstance(found, tuple) else found
        raise Refused(f"model_type {config.model_type}: transformers has no model for it")

    def floats(self, *shape):
        import torch

        return torch.zeros(shape, dtype=self.dtype).to("cuda")

    def whole(self, *shape):
        import torch

        return torch.ones(shape, dtype=torch.int64).to("cuda")

    def text_length(self):
        """Positions of a table are as many as were learned: what is longer is an error of the device."""
        table = first_of(self.config, ("max_position_embeddings", "n_positions", "max_seq_len"))
        learned = any("position" in name and "embed" in name or ".wpe." in name
                      for name, _ in self.model.named_parameters())
        new_tokens = 0 if getattr(self.config, "is_encoder_decoder", False) else int(self.settings["new-tokens"])
        seq = self.settings.seq
        if learned and isinstance(table, int) and seq + new_tokens > table:
            raise Refused(f"--seq {seq} --new-tokens {new_tokens}: the model's table has {table} positions")
        return seq

    def images(self):
        side = first_of(self.config, ("image_size", "input_size", "crop_size"), 224)
        high, wide = (side, side) if isinstance(side, int) else tuple(side)[-2:]
        channels, frames = first_of(self.config, ("num_channels",), 3), first_of(self.config, ("num_frames",))
        shape = (frames, channels, high, wide) if isinstance(frames, int) else (channels, high, wide)
        self.notes.append(f"an input is {' x '.join(map(str, shape))} values")
        return self.floats(self.settings.batch, *shape)

    def sound(self, name):
        config, batch = self.config, self.settings.batch
        bins = first_of(config, ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim"))
        if name == "input_values" and not (bins and getattr(config, "max_length", None)):
            self.notes.append("an input is one second of sound")
            return self.floats(batch, 16000)
        if hasattr(config, "max_source_positions") and hasattr(config, "num_mel_bins"):
            self.notes.append("an input is as much sound as the encoder's positions take")
            return self.floats(batch, bins, 2 * config.max_source_positions)
        length = first_of(config, ("max_length",)) if name == "input_values" else self.settings.seq
        return self.floats(batch, length, (bins or 80) * first_of(config, ("input_channels",), 1))

    def inputs(self):
        """The arguments of a forward; labels where the class computes a loss."""
        batch, main = self.settings.batch, self.model.main_input_name
        inputs = {}
        self.notes = [note for note in self.notes if not note.startswith("an input is")]
        if main == "input_ids":
            inputs[main] = self.whole(batch, self.text_length())
        elif main in ("pixel_values", "pixel_values_videos"):
            inputs[main] = self.images()
        elif main in ("input_values", "input_features"):
            inputs[main] = self.sound(main)
        else:
            raise Refused(f"{self.cls.__name__} takes {main}, which is not known here; give it with --build")
        if main == "input_ids" and {"pixel_values", "input_features"} & set(self.takes) and \
                "images or sound are not run, only text" not in self.notes:
            self.notes.append("images or sound are not run, only text")
        if self.settings.is_training and "labels" in self.takes:
            self.add_labels(inputs)
        if getattr(self.config, "is_encoder_decoder", False) and "labels" not in inputs and \
                "decoder_input_ids" in self.takes:
            inputs["decoder_input_ids"] = self.whole(batch, self.settings.seq)
        if self.settings["kv-cache"] == "none" and "kv-cache" in self.settings.given and "use_cache" in self.takes:
            inputs["use_cache"] = False
        return inputs

    def add_labels(self, inputs):
        name, batch = self.cls.__name__, self.settings.batch
        if "Classification" in name and "Token" not in name:
            inputs["labels"] = self.whole(batch) - 1
        elif "CTC" in name:
            inputs["labels"] = self.whole(batch, 8)
        elif "input_ids" in inputs:
            inputs["labels"] = inputs["input_ids"]
        elif getattr(self.config, "is_encoder_decoder", False):
            inputs["labels"] = self.whole(batch, self.settings.seq)

    def generate(self, inputs, new_tokens):
        if not self.model.can_generate():
            raise Refused(f"--new-tokens: {self.cls.__name__} does not generate")
        cache = {"cache_implementation": "static", "disable_compile": True} \
            if self.settings["kv-cache"] == "static" else {}
        self.model.generation_config.eos_token_id = None
        self.model.generate(**inputs, attention_mask=None, max_new_tokens=new_tokens, min_new_tokens=new_tokens,
                            do_sample=False, **cache)

    def checkpoint(self):
        if not self.model.supports_gradient_checkpointing:
            raise Refused(f"--checkpointing: {self.cls.__name__} has none")
        self.model.gradient_checkpointing_enable()
        number = int(self.settings["checkpointed-layers"])
        if number:
            from transformers.modeling_layers import GradientCheckpointingLayer

            layers = [m for m in self.model.modules() if isinstance(m, GradientCheckpointingLayer)]
            for layer in layers[number:]:
                layer.gradient_checkpointing = False

    def answer_for_the_device(self):
        """Whether a mask is all ones is read from the device, which computes nothing: the answer for it."""
        from transformers import masking_utils

        for name in ("_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa"):
            ask = getattr(masking_utils, name, None)
            if ask:
                setattr(masking_utils, name, lambda mask, *rest, ask=ask, **more: ask(None, *rest, **more))


class Diffusers(Transformers):
    """A network of diffusers: its forward's arguments, with the shapes that the configuration says."""

    name = "diffusers"

    def __init__(self, values, settings):
        import diffusers
        import torch

        self.notes, self.settings, self.dtype = [], settings, settings.dtype(values.get("dtype"))
        self.cls = getattr(diffusers, values["_class_name"], None)
        if not self.cls:
            raise Refused(f"{values['_class_name']}: not known to diffusers")
        with torch.device("cuda"):
            self.model = self.cls.from_config(values).to(self.dtype)
        self.config, self.takes = self.model.config, inspect.signature(self.model.forward).parameters

    def inputs(self):
        config, batch = self.config, self.settings.batch
        side = first_of(config, ("sample_size",), 64)
        sides = (side, side) if isinstance(side, int) else tuple(side)
        main = next(iter(self.takes))
        known = {"timestep": lambda: self.whole(batch),
                 "encoder_hidden_states": lambda: self.floats(batch, 77, first_of(
                     config, ("cross_attention_dim", "joint_attention_dim", "caption_channels"), 768)),
                 "class_labels": lambda: self.whole(batch) - 1,
                 "pooled_projections": lambda: self.floats(batch, first_of(config, ("pooled_projection_dim",), 768))}
        inputs = {main: self.floats(batch, config.in_channels, *sides)}
        for name, parameter in list(self.takes.items())[1:]:
            wanted = parameter.default is inspect.Parameter.empty or \
                (name == "class_labels" and getattr(config, "num_embeds_ada_norm", None)) or \
                (name in ("encoder_hidden_states", "pooled_projections") and
                 first_of(config, ("cross_attention_dim", "pooled_projection_dim")))
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or not wanted:
                continue
            if name not in known:
                raise Refused(f"{self.cls.__name__} needs {name}, which is not known here; give it with --build")
            inputs[name] = known[name]()
        return inputs

    def generate(self, inputs, new_tokens):
        raise Refused("--new-tokens: networks of diffusers generate no tokens")

    def checkpoint(self):
        self.model.enable_gradient_checkpointing()

    def answer_for_the_device(self):
        pass


class Timm(Diffusers):
    """An image model of timm: "architecture" and "model_args" of its configuration."""

    name = "timm"

    def __init__(self, values, settings):
        import timm
        import torch

        self.notes, self.settings, self.dtype = [], settings, settings.dtype(None)
        more = {"num_classes": values["num_classes"]} if "num_classes" in values else {}
        with torch.device("cuda"):
            self.model = timm.create_model(values["architecture"], **more, **values.get("model_args", {}))
        self.model = self.model.to(self.dtype)
        self.cls, self.config = type(self.model), None
        self.size = tuple((values.get("pretrained_cfg") or {}).get("input_size") or
                          self.model.default_cfg.get("input_size", (3, 224, 224)))

    def inputs(self):
        self.notes = [f"an input is {' x '.join(map(str, self.size))} values"]
        return {next(iter(inspect.signature(self.model.forward).parameters)):
                self.floats(self.settings.batch, *self.size)}

    def checkpoint(self):
        self.model.set_grad_checkpointing(True)


class Script(Diffusers):
    """FILE.py:FUNCTION: called with batch and seq, it returns a model and the arguments of a forward, both on cuda."""

    name = "script"

    def __init__(self, word, settings):
        import importlib.util

        path, function = word.rsplit(":", 1)
        self.notes, self.settings, self.config = [], settings, None
        spec = importlib.util.spec_from_file_location("planned_model", path)
        if not spec or not os.path.exists(path):
            raise Refused(f"--build {word}: no such Python file")
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec.loader.exec_module(module)
        if not callable(getattr(module, function, None)):
            raise Refused(f"--build {word}: the file has no function {function}")
        made = getattr(module, function)(batch=settings.batch, seq=settings.seq)
        if not (isinstance(made, tuple) and len(made) == 2 and hasattr(made[0], "parameters") and
                (callable(made[1]) or isinstance(made[1], dict))):
            raise Refused(f"--build {word}: must return a model and a dict of its forward's arguments")
        self.model, self.made = made
        self.word = word
        self.demand_device("the model", self.model.parameters())
        self.cls = type(self.model)

    def demand_device(self, what, tensors):
        devices = {str(tensor.device.type) for tensor in tensors if hasattr(tensor, "device")} - {"cuda"}
        if devices:
            raise Refused(f"--build {self.word}: {what} must be on cuda, not on {min(devices)}")

    def inputs(self):
        inputs = self.made() if callable(self.made) else dict(self.made)
        self.demand_device("the arguments", inputs.values())
        return inputs

    def checkpoint(self):
        self.model.gradient_checkpointing_enable()


def as_float(value):
    """As transformers writes what JSON has no number for."""
    name = value.get("__float__") if len(value) == 1 else None
    return float(name) if name in ("Infinity", "-Infinity", "NaN") else value


def open_model(word, settings):
    if ".py:" in word:
        return Script(word, settings)
    path = os.path.join(word, "config.json") if os.path.isdir(word) else word
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file, object_hook=as_float)
    except (OSError, ValueError) as reason:
        raise Refused(f"{path}: {reason}") from reason
    if not isinstance(values, dict):
        raise Refused(f"{path}: no configuration")
    for key, library in (("model_type", Transformers), ("_class_name", Diffusers), ("architecture", Timm)):
        if isinstance(values.get(key), str):
            return library(values, settings)
    raise Refused(f"{path}: has neither model_type, _class_name nor architecture: no library is known for it")


def add_adapters(planned, rank):
    from peft import LoraConfig, get_peft_model

    kind = "CAUSAL_LM" if "CausalLM" in planned.cls.__name__ else None
    planned.model = get_peft_model(planned.model, LoraConfig(r=rank, target_modules="all-linear", task_type=kind))


def make_optimizer(parameters, settings):
    import torch

    loop = {"foreach": {}, "fused": {"fused": True}, "single": {"foreach": False}}[settings["optimizer-loop"]]
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    if settings["optimizer"] == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-4, **loop)
    if settings["optimizer"] == "adafactor":
        from transformers import Adafactor

        return Adafactor(parameters)
    return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9 if settings["optimizer"] == "momentum" else 0, **loop)


def tensors_of(output):
    if hasattr(output, "is_floating_point"):
        yield output
    elif hasattr(output, "values"):
        for value in output.values():
            yield from tensors_of(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from tensors_of(value)


def loss_of(output):
    """The model's own, else the mean of what it returns first."""
    loss = output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None)
    if loss is not None:
        return loss
    first = next((t for t in tensors_of(output) if t.is_floating_point() and t.requires_grad), None)
    if first is None:
        raise Refused("the forward returns nothing that can be trained")
    return first.float().mean()


def train(planned, settings):
    import torch

    planned.model.train()
    if int(settings["checkpointed-layers"]) and planned.name != "transformers":
        raise Refused("--checkpointed-layers is run of models of transformers only")
    if settings["checkpointing"] == "full":
        planned.checkpoint()
    optimizer = make_optimizer(planned.model.parameters(), settings)
    computing = {"no": None, "bf16": torch.bfloat16, "fp16": torch.float16}[settings["autocast"]]
    for _ in range(2):
        for _ in range(int(settings["accumulate"])):
            with torch.autocast("cuda", computing or torch.bfloat16, enabled=computing is not None):
                output = planned.model(**planned.inputs())
                loss = loss_of(output)
            if settings["keep-logits"] != "yes":
                del output
            loss.backward()
            output = None  # --keep-logits: held in backward, and no longer
        optimizer.step()
        optimizer.zero_grad()


def infer(planned, settings):
    import torch

    planned.model.eval()
    computing = {"no": None, "bf16": torch.bfloat16, "fp16": torch.float16}[settings["autocast"]]
    with torch.no_grad(), torch.autocast("cuda", computing or torch.bfloat16, enabled=computing is not None):
        if int(settings["new-tokens"]):
            planned.generate(planned.inputs(), int(settings["new-tokens"]))
        else:
            planned.model(**planned.inputs())


def run(word, words):
    settings = Settings(words)
    try:
        import torch
    except ImportError as reason:
        raise Refused(f"{sys.executable} has no PyTorch") from reason
    planned = open_model(word, settings)
    parameters = sum(math.prod(p.shape) for p in planned.model.parameters())
    planned.answer_for_the_device()
    if int(settings["lora"]):
        add_adapters(planned, int(settings["lora"]))
    result = {"class": planned.cls.__name__, "library": planned.name, "parameters": parameters,
              "dtype": str(next(planned.model.parameters()).dtype).removeprefix("torch.")}
    torch.cuda.reset_peak_memory_stats()  # a model that is built has a tied head twice for a moment; a loaded one never
    try:
        (train if settings.is_training else infer)(planned, settings)
    except torch.OutOfMemoryError as reason:
        result["out_of_memory"] = str(reason).splitlines()[0]
    return result | {"notes": planned.notes, "max_memory_allocated": torch.cuda.max_memory_allocated()}


def versions():
    from importlib import metadata

    known = {}
    for name in LIBRARIES:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return known


def say_into(log):
    """What libraries print is none of the user's answer."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def main():
    if sys.argv[1:] == ["--versions"]:
        print(json.dumps({"python": sys.executable, "version": sys.version} | versions(), sort_keys=True))
        return 0
    word, path, log, *words = sys.argv[1:]
    say_into(log)
    try:
        result = run(word, words) | {"versions": versions()}
    except Refused as reason:
        result = {"error": str(reason)}
    except Exception as reason:  # whatever a model's code raises: its last line is the user's answer
        line = (str(reason).strip().splitlines() or [""])[0]
        hint = "; try --dtype fp32" if "dtype" in line and "dtype=auto" in words else ""
        result = {"error": f"the model cannot be run: {type(reason).__name__}: {line}{hint}"}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file)
    return "error" in result


if __name__ == "__main__":
    sys.exit(main())
