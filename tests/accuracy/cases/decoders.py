# SPDX-License-Identifier: MIT
"""Decoders of text from transformers, trained."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch

V, H, B, T = 16000, 512, 8, 256
HF = {"*.self_attn": "attention", "*.attn": "attention", "*.rotary_emb": "attention", "*.mlp": "mlp", "*norm*": "norm",
      "*.ln_?": "norm", "*.block_sparse_moe": "mlp", "*.mixer": "mixer"}


def small(config, **more):
    return config(vocab_size=V, hidden_size=H, num_hidden_layers=4, num_attention_heads=8, intermediate_size=1536,
                  **more)


def tokens(length=T):
    return torch.randint(0, V, (B, length), device="cuda")


def train(model, steps=3, optimizer=None, length=T):
    model.train()
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    watch(model, optimizer)
    stage("loaded")
    for step in range(steps):
        ids = tokens(length)
        out = model(input_ids=ids, labels=ids)
        stage(f"forward-{step}", inputs="ids")
        out.loss.backward()
        stage(f"backward-{step}", inputs="ids")
        optimizer.step()
        optimizer.zero_grad()
        stage(f"step-{step}", inputs="ids")


@case(family="decoder, GQA", mode="fp32", roles=HF, heads=["lm_head"])
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    train(LlamaForCausalLM(small(LlamaConfig, num_key_value_heads=4, use_cache=False)).to("cuda"))


@case(family="decoder, GQA, tied", mode="bf16, cache left on", roles=HF, heads=["lm_head"])
def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    model = Qwen2ForCausalLM(small(Qwen2Config, num_key_value_heads=2, tie_word_embeddings=True))
    train(model.to("cuda", torch.bfloat16))


@case(family="decoder", mode="fp32, fused Adam", roles=HF, heads=["lm_head"])
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_embd=H, n_layer=4, n_head=8, use_cache=False)).to("cuda")
    train(model, optimizer=torch.optim.Adam(model.parameters(), fused=True))


@case(family="decoder", mode="fp16, foreach SGD", roles=HF, heads=["lm_head"])
def phi():
    from transformers import PhiConfig, PhiForCausalLM
    model = PhiForCausalLM(small(PhiConfig, use_cache=False)).cuda().half()
    train(model, optimizer=torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, foreach=True))


@case(family="mixture of experts", mode="fp32", roles=HF, heads=["lm_head"])
def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM
    train(MixtralForCausalLM(small(MixtralConfig, num_key_value_heads=2, num_local_experts=4, use_cache=False)).cuda())


@case(family="mixture of experts, shared expert", mode="bf16", roles=HF, heads=["lm_head"])
def deepseek():
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
    config = DeepseekV3Config(vocab_size=V, hidden_size=H, num_hidden_layers=3, num_attention_heads=8,
                              num_key_value_heads=8, intermediate_size=1024, moe_intermediate_size=256,
                              n_routed_experts=8, n_group=2, topk_group=1, num_experts_per_tok=2, kv_lora_rank=64,
                              q_lora_rank=96, qk_rope_head_dim=32, v_head_dim=64, qk_nope_head_dim=64,
                              first_k_dense_replace=1, use_cache=False)
    train(DeepseekV3ForCausalLM(config).to(torch.bfloat16).cuda())


@case(family="decoder, parallel blocks", mode="bf16", roles={**HF, "*.attention": "attention"}, heads=["lm_head"])
def neox():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
    train(GPTNeoXForCausalLM(small(GPTNeoXConfig, use_cache=False)).to("cuda", torch.bfloat16))


@case(family="decoder, soft caps", mode="fp32, eager attention", roles=HF, heads=["lm_head"])
def gemma2():
    from transformers import Gemma2Config, Gemma2ForCausalLM
    config = small(Gemma2Config, num_key_value_heads=4, head_dim=64, use_cache=False, attn_implementation="eager")
    train(Gemma2ForCausalLM(config).cuda())


@case(family="state space", mode="fp32", roles=HF, heads=["lm_head"])
def mamba():
    from transformers import MambaConfig, MambaForCausalLM
    train(MambaForCausalLM(MambaConfig(vocab_size=V, hidden_size=H, num_hidden_layers=2, state_size=16,
                                       use_cache=False)).to("cuda"), length=64)


@case(family="state space, second kind", mode="bf16", roles=HF, heads=["lm_head"])
def mamba2():
    from transformers import Mamba2Config, Mamba2ForCausalLM
    train(Mamba2ForCausalLM(Mamba2Config(vocab_size=V, hidden_size=H, num_hidden_layers=2, state_size=32, num_heads=16,
                                         head_dim=64, n_groups=1, chunk_size=64,
                                         use_cache=False)).to("cuda", torch.bfloat16), length=128)


@case(family="decoder, GQA", mode="autocast bf16, gradient scaler, two micro-batches", roles=HF, heads=["lm_head"])
def llama_autocast():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(small(LlamaConfig, num_key_value_heads=4, use_cache=False)).to("cuda")
    optimizer, scaler = torch.optim.AdamW(model.parameters(), 1e-4), torch.amp.GradScaler("cuda")
    watch(model, optimizer)
    stage("loaded")
    for step in range(3):
        for micro in range(2):
            ids = tokens()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(input_ids=ids, labels=ids).loss / 2
            stage(f"forward-{step}.{micro}", inputs="ids")
            scaler.scale(loss).backward()
            stage(f"backward-{step}.{micro}", inputs="ids")
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)
        stage(f"step-{step}", inputs="ids")


@case(family="decoder, GQA", mode="checkpointing, reentrant", roles=HF, heads=["lm_head"])
def llama_reentrant():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(small(LlamaConfig, num_key_value_heads=4, use_cache=False)).to("cuda")
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    train(model)


@case(family="decoder", mode="bf16, checkpointing, long rows", roles=HF, heads=["lm_head"])
def mistral_checkpointed():
    from transformers import MistralConfig, MistralForCausalLM
    model = MistralForCausalLM(small(MistralConfig, num_key_value_heads=2, sliding_window=64, use_cache=False))
    model = model.to("cuda", torch.bfloat16)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    train(model, length=512)


@case(family="decoder", mode="validation inside training, rows of predictions kept", roles=HF, heads=["lm_head"])
def gpt2_validation():
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_embd=H, n_layer=4, n_head=8)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for epoch in range(2):
        model.train()
        for _ in range(2):
            ids = tokens()
            out = model(ids, labels=ids)
            out.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        stage(f"trained-{epoch}", inputs="ids")
        model.eval()
        predictions, hidden = [], []
        with torch.no_grad():
            for _ in range(4):
                ids = tokens()
                out = model(ids, labels=ids, output_hidden_states=True)
                predictions.append(out.logits.argmax(-1))
                hidden.append(out.hidden_states[-1].mean(1))
        stage(f"validated-{epoch}", inputs="ids", user="predictions, hidden")


@case(family="decoder, GQA", mode="distillation", roles=HF, heads=["lm_head"])
def distillation():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = small(LlamaConfig, num_key_value_heads=4, use_cache=False)
    student, teacher = LlamaForCausalLM(config).to("cuda"), LlamaForCausalLM(config).to("cuda").eval()
    optimizer = torch.optim.AdamW(student.parameters())
    watch(student, optimizer, teacher)
    for step in range(3):
        ids = tokens()
        with torch.no_grad():
            target = teacher(ids).logits
        stage(f"teacher-{step}", inputs="ids")
        made = student(ids).logits
        loss = F.kl_div(F.log_softmax(made / 2, -1), F.softmax(target / 2, -1), reduction="batchmean")
        stage(f"forward-{step}", inputs="ids")
        loss.backward()
        stage(f"backward-{step}", inputs="ids")
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
