# SPDX-License-Identifier: MIT
"""What `vtrace estimate` plans, run: two training steps, a forward or a generation of a model of transformers."""
import argparse
import inspect
import json
import math

import torch
import transformers
from transformers import AutoConfig

# Where a configuration names no class: the one that has the parameters that a preset counts; all others are language
# models.
CLASSES = {"t5": "T5ForConditionalGeneration", "vit": "ViTModel", "bert": "BertModel", "llava":
           "LlavaForConditionalGeneration", "siglip_vision_model": "SiglipVisionModel"}
OPTIMIZERS = {"adamw": lambda p, fused: torch.optim.AdamW(p, lr=1e-4, fused=fused or None),
              "sgd": lambda p, fused: torch.optim.SGD(p, lr=1e-4),
              "momentum": lambda p, fused: torch.optim.SGD(p, lr=1e-4, momentum=0.9),
              "adafactor": lambda p, fused: transformers.Adafactor(p)}
IGNORED = ("dtype", "torch_dtype", "sliding_window_pattern")


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="a config.json")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--attention", help="default: what transformers takes for the model")
    parser.add_argument("--checkpointing", action="store_true")
    parser.add_argument("--checkpointed", type=lambda text: text.split(","), default=[], help="layers by their paths")
    parser.add_argument("--uncached", action="store_true", help="as transformers has it where anything is checkpointed")
    parser.add_argument("--checkpointed-layers", type=int, default=0, help="of --checkpointing: the first ones alone")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--fused", action="store_true", help="the fused optimizer")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters (PEFT)")
    parser.add_argument("--freeze-vision", action="store_true")
    parser.add_argument("--fused-loss", action="store_true", help="head and loss by chunks, gradients in the forward")
    parser.add_argument("--keep-logits", action="store_true", help="the script has the output in a variable")
    parser.add_argument("--new-tokens", type=int, default=0)
    parser.add_argument("--static-cache", action="store_true")
    return parser.parse_args(words)


def make_config(path):
    with open(path, encoding="utf-8") as file:
        values = json.load(file, object_hook=lambda v: float(v["__float__"]) if set(v) == {"__float__"} else v)
    for part in (values, *(v for v in values.values() if isinstance(v, dict))):
        for key in IGNORED:
            part.pop(key, None)
    values.setdefault("decoder_start_token_id", 0)  # which T5 needs, and nobody else minds
    return AutoConfig.for_model(values.pop("model_type"), **values)


def make_model(options):
    config = make_config(options.config)
    name = (config.architectures or [CLASSES.get(config.model_type, "AutoModelForCausalLM")])[0]
    cls = getattr(transformers, name)
    make = cls.from_config if name.startswith("Auto") else cls._from_config
    with torch.device("cuda"):
        model = make(config, dtype=getattr(torch, options.dtype), attn_implementation=options.attention)
    if options.freeze_vision:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("vision" not in name)
    if options.lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=options.lora, target_modules="all-linear", task_type="CAUSAL_LM"))
    return model


def pixels(config, options):
    side = config.image_size
    return torch.randn(options.batch, 3, side, side, dtype=getattr(torch, options.dtype)).to("cuda")


def heard(config, options, tokens):
    """Half a minute of sound, as its feature extractor pads everything to."""
    sound = torch.randn(options.batch, config.num_mel_bins, 2 * config.max_source_positions,
                        dtype=getattr(torch, options.dtype)).to("cuda")
    return {"input_features": sound, "labels" if options.train else "decoder_input_ids": tokens}


def make_inputs(model, options):
    """The arguments of a forward; what is to be learned is among them where the class computes a loss."""
    config, takes = model.config, inspect.signature(model.forward).parameters
    if "pixel_values" in takes and "input_ids" not in takes:
        inputs = {"pixel_values": pixels(config, options)}
        if options.train and config.architectures and "labels" in takes:
            inputs["labels"] = torch.zeros(options.batch, dtype=torch.int64).to("cuda")
        return inputs
    text = config.get_text_config()
    inputs = {"input_ids": torch.randint(text.vocab_size, (options.batch, options.seq)).to("cuda")}
    if config.model_type == "llava":
        return inputs | {"pixel_values": pixels(config.vision_config, options)}
    if "input_features" in takes and "input_ids" not in takes:
        return heard(config, options, inputs["input_ids"])
    if options.train and not options.fused_loss and (config.architectures or config.model_type != "bert"):
        inputs["labels"] = inputs["input_ids"]
    elif config.is_encoder_decoder and "decoder_input_ids" in takes and not options.new_tokens:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    return inputs


class HeadAndLoss(torch.autograd.Function):
    """What fused kernels do, in PyTorch: chunks as wide as the hidden states, gradients where the logits were."""

    @staticmethod
    def forward(ctx, hidden, weight, targets):
        wanted = math.ceil(hidden.shape[0] / math.ceil(weight.shape[0] / hidden.shape[1]))
        chunk = 1 << (wanted - 1).bit_length()
        of_hidden, of_weight = torch.zeros_like(hidden), torch.zeros_like(weight)
        loss = torch.zeros((), device=hidden.device)
        for start in range(0, hidden.shape[0], chunk):
            part = hidden[start:start + chunk]
            logits = part @ weight.t()
            loss += logits[:, 0].float().sum()
            logits.sub_(1)  # the softmax, in place
            torch.mm(logits, weight, out=of_hidden[start:start + chunk])
            of_weight.addmm_(logits.t(), part)
        ctx.save_for_backward(of_hidden, of_weight)
        return loss

    @staticmethod
    def backward(ctx, gradient):
        of_hidden, of_weight = ctx.saved_tensors
        return of_hidden.mul_(gradient), of_weight.mul_(gradient), None


def joined(model, inputs, options):
    """An image before the text; its own forward asks the device where images go, which a simulated one cannot say."""
    images = model.get_image_features(pixel_values=inputs["pixel_values"]).pooler_output
    parts = (torch.stack(tuple(images)), model.get_input_embeddings()(inputs["input_ids"]))
    embeddings = torch.cat(parts, 1)
    logits = model.lm_head(model.model.language_model(inputs_embeds=embeddings).last_hidden_state)
    labels = torch.zeros(logits.shape[:2], dtype=torch.int64, device="cuda")
    return model.loss_function(logits, labels, model.config.text_config.vocab_size) if options.train else logits


def loss_of(model, inputs, options):
    """The loss; with --keep-logits they are left in `options`."""
    if model.config.model_type == "llava":
        return joined(model, inputs, options)
    if options.fused_loss:
        hidden = model.model(**inputs).last_hidden_state
        return HeadAndLoss.apply(hidden.flatten(0, 1), model.lm_head.weight, inputs["input_ids"].flatten())
    output = model(**inputs)
    options.held = output if options.keep_logits else None
    return output.loss if "labels" in inputs else output.last_hidden_state.float().mean()


def checkpoint_some(model, options):
    """Of all layers that can be those that are named, or the first ones."""
    from transformers.modeling_layers import GradientCheckpointingLayer

    model.gradient_checkpointing_enable()
    layers = [(name, m) for name, m in model.named_modules() if isinstance(m, GradientCheckpointingLayer)]
    for number, (name, layer) in enumerate(layers):
        if options.checkpointed:
            layer.gradient_checkpointing = any(name.endswith(path) for path in options.checkpointed)
        elif options.checkpointed_layers:
            layer.gradient_checkpointing = number < options.checkpointed_layers


def train(model, options):
    model.train()
    if options.uncached:
        model.config.use_cache = False
    if options.checkpointing or options.checkpointed:
        checkpoint_some(model, options)
    optimizer = OPTIMIZERS[options.optimizer]([p for p in model.parameters() if p.requires_grad], options.fused)
    for _ in range(options.steps):
        for _ in range(options.accumulate):
            inputs = make_inputs(model, options)
            with torch.autocast("cuda", torch.bfloat16, enabled=options.autocast):
                loss = loss_of(model, inputs, options)
            loss.backward()
            options.held = None
        optimizer.step()
        optimizer.zero_grad()


def tell_no_padding():
    """Whether a mask is all ones is read from the device, and a simulated one computes nothing: the answer for it."""
    from transformers import masking_utils

    ask = masking_utils._ignore_causal_mask_sdpa
    masking_utils._ignore_causal_mask_sdpa = lambda mask, *arguments, **keywords: ask(None, *arguments, **keywords)


@torch.no_grad()
def infer(model, options):
    model.eval()
    inputs = make_inputs(model, options)
    if options.new_tokens:
        more = {"cache_implementation": "static", "disable_compile": True} if options.static_cache else {}
        model.generate(**inputs, attention_mask=None, max_new_tokens=options.new_tokens,
                       min_new_tokens=options.new_tokens, do_sample=False, **more)
    elif model.config.model_type == "llava":
        joined(model, inputs, options)
    else:
        model(**inputs)


def measured(options):
    """The peaks that PyTorch counts."""
    tell_no_padding()
    model = make_model(options)
    # A model that is built, and not loaded, has a tied head twice for a moment.
    torch.cuda.reset_peak_memory_stats()
    (train if options.train else infer)(model, options)
    return {"peak_allocated_bytes": torch.cuda.max_memory_allocated(),
            "peak_reserved_bytes": torch.cuda.max_memory_reserved()}


def main():
    print(json.dumps(measured(parse())))


if __name__ == "__main__":
    main()
