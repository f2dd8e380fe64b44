# SPDX-License-Identifier: MIT
"""Combinations that were written down before the planner was asked about them: sizes that no published model has."""
from combinations import Combination


def decoder(model_type, hidden, layers, heads, kv_heads, ffn, vocabulary, **more):
    return {"model_type": model_type, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "intermediate_size": ffn, "vocab_size": vocabulary,
            "max_position_embeddings": 4096, **more}


CONFIGS = {
    "blind-qwen3": decoder("qwen3", 1152, 9, 18, 6, 3200, 60000, head_dim=80, tie_word_embeddings=False),
    "blind-qwen2": decoder("qwen2", 1408, 8, 22, 2, 3840, 70000, tie_word_embeddings=True),
    "blind-mixtral": decoder("mixtral", 640, 6, 10, 5, 1536, 20000, num_local_experts=6, num_experts_per_tok=2),
    "blind-gemma2": decoder("gemma2", 1024, 8, 8, 4, 3072, 90000, head_dim=160, sliding_window=512,
                            query_pre_attn_scalar=160, attn_logit_softcapping=50.0, final_logit_softcapping=30.0),
    "blind-gemma3": decoder("gemma3_text", 768, 12, 6, 2, 2560, 100000, head_dim=192, sliding_window=512),
    "blind-phi3": decoder("phi3", 1536, 10, 24, 8, 4096, 32064, sliding_window=8192, pad_token_id=0),
    "blind-olmo2": decoder("olmo2", 1024, 12, 16, 4, 4096, 48000),
    "blind-stablelm": decoder("stablelm", 1280, 10, 20, 10, 3584, 50304, partial_rotary_factor=0.25,
                              use_qkv_bias=True),
    "blind-cohere": decoder("cohere", 1024, 9, 16, 8, 3072, 64000, logit_scale=0.0625),
    "blind-falcon": {"model_type": "falcon", "hidden_size": 1280, "num_hidden_layers": 10, "num_attention_heads": 20,
                     "vocab_size": 45000, "multi_query": True, "parallel_attn": True, "bias": False,
                     "new_decoder_architecture": False, "alibi": False},
    "blind-neox": decoder("gpt_neox", 1024, 10, 16, 16, 4096, 50432, rotary_pct=0.25),
    "blind-starcoder2": decoder("starcoder2", 1280, 10, 20, 4, 5120, 49152, use_bias=True, sliding_window=None,
                                residual_dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0,
                                hidden_act="gelu_pytorch_tanh"),
    "blind-gpt2": {"model_type": "gpt2", "n_embd": 1152, "n_layer": 14, "n_head": 18, "n_positions": 1536,
                   "vocab_size": 40000},
    "blind-granite": decoder("granite", 1280, 10, 20, 5, 3584, 49155),
    "blind-opt": {"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 16,
                  "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "dropout": 0.1,
                  "word_embed_proj_dim": 1024, "do_layer_norm_before": True},
    "blind-bert": {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 640,
                   "num_hidden_layers": 10, "num_attention_heads": 10, "intermediate_size": 2560, "vocab_size": 28000,
                   "max_position_embeddings": 512},
    "blind-roberta": {"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "hidden_size": 896,
                      "num_hidden_layers": 8, "num_attention_heads": 14, "intermediate_size": 3584,
                      "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
    "blind-t5": {"model_type": "t5", "d_model": 640, "num_layers": 8, "num_decoder_layers": 6, "num_heads": 10,
                 "d_kv": 64, "d_ff": 2048, "vocab_size": 32128, "feed_forward_proj": "gated-gelu",
                 "tie_word_embeddings": False},
    "blind-mamba": {"model_type": "mamba", "hidden_size": 512, "num_hidden_layers": 10, "state_size": 16,
                    "conv_kernel": 4, "expand": 2, "vocab_size": 32000, "time_step_rank": 32},
    "blind-vit": {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 640,
                  "num_hidden_layers": 14, "num_attention_heads": 10, "intermediate_size": 2560, "image_size": 256,
                  "patch_size": 16, "num_labels": 1000},
    "blind-whisper": {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"],
                      "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
                      "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048,
                      "vocab_size": 51865, "num_mel_bins": 80, "max_source_positions": 1500,
                      "max_target_positions": 448},
    "blind-bloom": {"model_type": "bloom", "hidden_size": 1152, "n_layer": 11, "n_head": 18, "vocab_size": 60000},
    "blind-nemotron": decoder("nemotron", 1280, 9, 20, 5, 4608, 52000, partial_rotary_factor=0.5,
                              hidden_act="relu2", head_dim=64),
    "blind-olmoe": decoder("olmoe", 768, 6, 12, 4, 512, 34000, num_experts=12, num_experts_per_tok=3),
    "blind-glm4": decoder("glm4", 1152, 8, 18, 3, 3328, 56000, head_dim=64, pad_token_id=0),
    "blind-distilbert": {"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "dim": 704,
                         "n_layers": 7, "n_heads": 11, "hidden_dim": 2816, "vocab_size": 29000,
                         "max_position_embeddings": 512},
    "blind-gpt-neo": {"model_type": "gpt_neo", "hidden_size": 960, "num_layers": 10, "num_heads": 12,
                      "attention_types": [[["global", "local"], 5]], "vocab_size": 45000, "window_size": 256,
                      "max_position_embeddings": 2048},
    "blind-gptj": {"model_type": "gptj", "n_embd": 1024, "n_layer": 9, "n_head": 8, "rotary_dim": 64,
                   "n_positions": 2048, "vocab_size": 47000, "tie_word_embeddings": False},
    "blind-bigcode": {"model_type": "gpt_bigcode", "n_embd": 1280, "n_layer": 11, "n_head": 20, "n_positions": 2048,
                      "vocab_size": 49000, "multi_query": True, "activation_function": "gelu_pytorch_tanh"},
    "blind-mpt": {"model_type": "mpt", "d_model": 1152, "n_layers": 9, "n_heads": 18, "max_seq_len": 2048,
                  "vocab_size": 50400},
    "blind-qwen2-moe": decoder("qwen2_moe", 896, 7, 14, 7, 2432, 44000, moe_intermediate_size=640,
                               shared_expert_intermediate_size=1792, num_experts=8, num_experts_per_tok=3),
    "blind-electra": {"model_type": "electra", "architectures": ["ElectraForMaskedLM"], "embedding_size": 192,
                      "hidden_size": 576, "num_hidden_layers": 10, "num_attention_heads": 9,
                      "intermediate_size": 2304, "vocab_size": 30000, "max_position_embeddings": 512},
    "blind-persimmon": decoder("persimmon", 1152, 8, 18, 18, 4608, 66000, hidden_act="relu2",
                               partial_rotary_factor=0.5, qk_layernorm=True),
}


def train(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, True, plan or {}, run, CONFIGS[model])


def infer(model, batch, seq, plan=None, run=()):
    return Combination(model, batch, seq, False, plan or {}, run, CONFIGS[model])


EAGER = {"attention": "eager"}
EAGER_RUN = ("--attention", "eager")
CHECKPOINTING = {"checkpointing": "full"}


def tokens(number):
    """Generated behind a prompt."""
    return {"new-tokens": number}, ("--new-tokens", str(number))


BLIND = (
    train("blind-qwen3", 3, 768, EAGER, EAGER_RUN),
    train("blind-qwen3", 6, 1280, CHECKPOINTING, ("--checkpointing",)),
    train("blind-qwen2", 3, 1280, {"lora": 32}, ("--lora", "32")),
    train("blind-mixtral", 3, 1280),
    train("blind-gemma2", 3, 1280),
    train("blind-gemma3", 3, 1280, {"accumulate": 2}, ("--accumulate", "2")),
    train("blind-phi3", 3, 1280),
    train("blind-olmo2", 5, 1024, {"optimizer": "sgd"}, ("--optimizer", "sgd")),
    train("blind-stablelm", 3, 1280),
    train("blind-cohere", 3, 1280),
    train("blind-falcon", 3, 1280),
    train("blind-neox", 3, 1280, EAGER, EAGER_RUN),
    train("blind-starcoder2", 3, 1280),
    train("blind-granite", 3, 1280, {"dtype": "fp32"}, ("--dtype", "float32")),
    train("blind-gpt2", 6, 1024, {"dtype": "fp32", "autocast": "bf16"}, ("--dtype", "float32", "--autocast")),
    train("blind-opt", 4, 1280),
    train("blind-bert", 24, 384),
    train("blind-roberta", 12, 512),
    train("blind-t5", 10, 384),
    train("blind-mamba", 3, 48, {"scan": "sequential"}),
    train("blind-vit", 24, 1),
    train("blind-whisper", 8, 256),
    infer("blind-gpt2", 6, 768, *tokens(12)),
    infer("blind-gemma2", 3, 3072, *tokens(6)),
    infer("blind-gemma3", 3, 3072, *tokens(6)),
    infer("blind-qwen3", 6, 3072, EAGER, EAGER_RUN),
    infer("blind-neox", 6, 1536, *tokens(6)),
    infer("blind-mixtral", 6, 1536, *tokens(6)),
    infer("blind-stablelm", 6, 3072),
    infer("blind-cohere", 6, 3072, *tokens(6)),
    infer("blind-falcon", 6, 1536, *tokens(6)),
    infer("blind-t5", 24, 1024, *tokens(8)),
    infer("blind-bert", 32, 512),
    infer("blind-mamba", 8, 128, {"scan": "sequential"}),
    infer("blind-vit", 48, 1),
    train("blind-bloom", 3, 1280),
    train("blind-nemotron", 3, 1280),
    train("blind-olmoe", 3, 1280),
    infer("blind-glm4", 6, 1536, *tokens(6)),
    train("blind-distilbert", 20, 384),
    train("blind-gpt-neo", 3, 1280),
    train("blind-gptj", 3, 1280),
    infer("blind-bigcode", 6, 1536, *tokens(6)),
    train("blind-mpt", 3, 1280),
    train("blind-qwen2-moe", 3, 1280),
    train("blind-electra", 20, 384),
    infer("blind-persimmon", 6, 1536, *tokens(6)),
    infer("blind-bloom", 3, 1536),
    infer("blind-gpt-neo", 3, 1536),
    infer("blind-gptj", 3, 1536),
    infer("blind-mpt", 3, 1536),
    infer("blind-nemotron", 6, 1536, *tokens(6)),
    infer("blind-electra", 32, 512),
)
