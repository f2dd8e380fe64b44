# SPDX-License-Identifier: MIT
"""Combinations that no formula of the planner was fitted to: other architectures, other modes, models of nobody's."""
from combinations import Combination

# Written by hand: sizes that no published model has.
CONFIGS = {
    "small-mixtral": {"model_type": "mixtral", "hidden_size": 768, "num_hidden_layers": 5, "num_attention_heads": 12,
                      "num_key_value_heads": 4, "intermediate_size": 1792, "num_local_experts": 8,
                      "num_experts_per_tok": 2, "vocab_size": 24000},
    "small-qwen3-moe": {"model_type": "qwen3_moe", "hidden_size": 896, "num_hidden_layers": 6,
                        "num_attention_heads": 14, "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 2048,
                        "moe_intermediate_size": 384, "num_experts": 16, "num_experts_per_tok": 4,
                        "vocab_size": 40000},
    "small-deepseek": {"model_type": "deepseek_v2", "hidden_size": 1024, "num_hidden_layers": 5,
                       "num_attention_heads": 8, "num_key_value_heads": 8, "intermediate_size": 2816,
                       "moe_intermediate_size": 512, "n_routed_experts": 8, "n_shared_experts": 2,
                       "num_experts_per_tok": 2, "first_k_dense_replace": 1, "q_lora_rank": None,
                       "kv_lora_rank": 256, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 64,
                       "vocab_size": 32000},
    "small-olmo": {"model_type": "olmo2", "hidden_size": 1280, "num_hidden_layers": 9, "num_attention_heads": 20,
                   "num_key_value_heads": 20, "intermediate_size": 3456, "vocab_size": 50000},
    "small-llava": {"model_type": "llava",
                    "text_config": {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8,
                                    "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 2816,
                                    "vocab_size": 32064},
                    "vision_config": {"model_type": "clip_vision_model", "hidden_size": 768, "num_hidden_layers": 6,
                                      "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224,
                                      "patch_size": 14}},
}


def train(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, True, plan or {}, run, CONFIGS.get(model))


def infer(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, False, plan or {}, run, CONFIGS.get(model))


STATIC = {"new-tokens": 16, "kv-cache": "static"}

INDEPENDENT = (
    train("gemma-2-2b", 2, 1024),
    train("phi-3-mini", 1, 1024, {"checkpointing": "full"}, ("--checkpointing",)),
    train("small-olmo", 4, 1536, {"loss": "fused"}, ("--fused-loss",)),
    train("llama-3.2-3b", 2, 1024, {"lora": 16}, ("--lora", "16")),
    train("mistral-7b", 1, 1024, {"lora": 8, "checkpointing": "full"}, ("--lora", "8", "--checkpointing")),
    train("qwen2.5-1.5b", 2, 1024, {"accumulate": 3}, ("--accumulate", "3")),
    train("qwen3-0.6b", 2, 2048, {"optimizer": "momentum"}, ("--optimizer", "momentum")),
    train("small-mixtral", 2, 1024),
    train("small-qwen3-moe", 4, 1024, {"checkpointing": "full"}, ("--checkpointing",)),
    train("small-deepseek", 2, 1024),
    train("t5-base", 8, 512),
    train("bert-base", 16, 512),
    train("vit-base-patch16-224", 32, 1),
    train("siglip-so400m-patch16-512", 4, 1),
    train("small-llava", 4, 512, {"freeze": "vision"}, ("--freeze-vision",)),
    train("mamba-130m", 2, 64, {"scan": "sequential"}),
    infer("llama-3.2-3b", 2, 12288, STATIC, ("--new-tokens", "16", "--static-cache")),
    infer("gemma-2-2b", 1, 6144, {"new-tokens": 4}, ("--new-tokens", "4")),
    infer("small-deepseek", 4, 2048, {"new-tokens": 8}, ("--new-tokens", "8")),
    infer("small-mixtral", 4, 4096),
    infer("small-llava", 8, 512, {"kv-cache": "none"}),  # the script drops the cache before the head
)
