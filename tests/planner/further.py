# SPDX-License-Identifier: MIT
"""Combinations of encoder-decoders beside T5 and of stacks that mix attention with state-space layers."""
from blind import CONFIGS as WRITTEN_FIRST
from combinations import Combination

BART = {"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "d_model": 640, "encoder_layers": 6,
        "decoder_layers": 5, "encoder_attention_heads": 10, "decoder_attention_heads": 10, "encoder_ffn_dim": 2560,
        "decoder_ffn_dim": 2560, "vocab_size": 40000, "max_position_embeddings": 1024}
CONFIGS = {
    "small-bart": BART,
    "small-mbart": BART | {"model_type": "mbart", "architectures": ["MBartForConditionalGeneration"], "d_model": 512,
                           "encoder_attention_heads": 8, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048},
    "blind-whisper": WRITTEN_FIRST["blind-whisper"],
    "small-jamba": {"model_type": "jamba", "architectures": ["JambaForCausalLM"], "hidden_size": 512,
                    "intermediate_size": 1408, "num_hidden_layers": 8, "num_attention_heads": 8,
                    "num_key_value_heads": 2, "attn_layer_period": 4, "attn_layer_offset": 2, "num_experts": 4,
                    "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1,
                    "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 32,
                    "vocab_size": 30000, "use_mamba_kernels": False},
    "small-bamba": {"model_type": "bamba", "architectures": ["BambaForCausalLM"], "hidden_size": 512,
                    "intermediate_size": 1408, "num_hidden_layers": 8, "num_attention_heads": 8,
                    "num_key_value_heads": 2, "attn_layer_indices": [2, 5], "mamba_n_heads": 16, "mamba_d_head": 64,
                    "mamba_n_groups": 1, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2,
                    "mamba_chunk_size": 256, "vocab_size": 32000},
}


def train(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, True, plan or {}, run, CONFIGS[model])


def infer(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, False, plan or {}, run, CONFIGS[model])


SCAN = {"scan": "sequential"}
GENERATION = {"new-tokens": 6}, ("--new-tokens", "6")

FURTHER = (
    train("small-bart", 8, 512),
    infer("small-bart", 24, 768, *GENERATION),
    train("small-mbart", 8, 512),
    infer("small-mbart", 24, 768),
    train("blind-whisper", 8, 256),
    infer("blind-whisper", 16, 256),
    train("small-jamba", 4, 48, SCAN),
    infer("small-jamba", 8, 96, SCAN),
    train("small-bamba", 4, 512, SCAN),
    infer("small-bamba", 8, 1024, SCAN),
)
