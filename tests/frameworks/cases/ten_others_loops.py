# SPDX-License-Identifier: MIT
"""The rest of the ten of ten_others.py: pairs on two ranks, Flux, compiled programs, a harness; loops of their own."""
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from parallel import join
from program import case, head, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ResidualAttentionBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, attn_mask=None):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=attn_mask)[0]
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, size=96, patch=12, width=256, layers=4, heads=4, dim=128):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(0.02 * torch.randn(width))
        self.positional_embedding = nn.Parameter(0.02 * torch.randn((size // patch) ** 2 + 1, width))
        self.resblocks = nn.ModuleList(ResidualAttentionBlock(width, heads) for _ in range(layers))
        self.ln_pre, self.ln_post, self.proj = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, dim)

    def forward(self, x):
        x = self.conv1(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_embedding.expand(len(x), 1, -1).to(x.dtype), x], dim=1)
        x = self.ln_pre(x + self.positional_embedding)
        for block in self.resblocks:
            x = block(x)
        return self.proj(self.ln_post(x[:, 0]))


class TextTransformer(nn.Module):
    def __init__(self, vocab=6000, context=48, width=192, layers=3, heads=3, dim=128):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(context, width))
        self.resblocks = nn.ModuleList(ResidualAttentionBlock(width, heads) for _ in range(layers))
        self.ln_final, self.text_projection = nn.LayerNorm(width), nn.Linear(width, dim)
        self.register_buffer("attn_mask", torch.full((context, context), float("-inf")).triu(1), persistent=False)

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        for block in self.resblocks:
            x = block(x, self.attn_mask)
        return self.text_projection(self.ln_final(x)[:, -1])


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual, self.text = VisionTransformer(), TextTransformer()
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        image, text = self.visual(image), self.text(text)
        return F.normalize(image, dim=-1), F.normalize(text, dim=-1), self.logit_scale.exp()


@case(family="DistributedDataParallel", mode="CLIP of two ranks, features gathered, autocast bf16, clipped, zero-shot",
      roles={"*.attn": "attention", "*.attn.*": "attention", "*.mlp": "mlp", "*.mlp.*": "mlp",
             ":ResidualAttentionBlock": "residual", "*conv1": "embedding", ":VisionTransformer": "embedding",
             ":TextTransformer": "embedding", "*.proj": "other", "*.text_projection": "other"},
      functions={"DistributedDataParallel._pre_forward": "gradients", "_ddp_init_helper": "gradients",
                 "_AllGather.forward": "communication", "_AllGather.backward": "communication",
                 "_sync_module_states": "communication", "_sync_buffers": "communication"}, steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"), ranks=2, device="h100-80g,count=2",
      env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def contrastive_pairs():
    from torch.distributed.nn.functional import all_gather
    join("nccl")
    rank, device = dist.get_rank(), torch.device("cuda", torch.cuda.current_device())
    model = nn.parallel.DistributedDataParallel(CLIP().to(device), device_ids=[device.index], static_graph=True)
    decayed, others = ([p for p in model.parameters() if (p.ndim >= 2) == wanted] for wanted in (True, False))
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.2}, {"params": others, "weight_decay": 0.0}],
                                  lr=5e-4, betas=(0.9, 0.98), eps=1e-6)

    def contrastive_loss(image_features, text_features, logit_scale):
        all_image, all_text = (torch.cat(all_gather(part)) for part in (image_features, text_features))
        labels = torch.arange(len(image_features), device=device) + rank * len(image_features)
        logits_per_image = logit_scale * image_features @ all_text.T
        logits_per_text = logit_scale * text_features @ all_image.T
        return (F.cross_entropy(logits_per_image, labels) + F.cross_entropy(logits_per_text, labels)) / 2

    model.train()
    for _ in range(4):
        images = torch.randn(24, 3, 96, 96).to(device, non_blocking=True)
        texts = torch.randint(0, 6000, (24, 48)).to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = contrastive_loss(*model(images, texts))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            model.module.logit_scale.clamp_(0, math.log(100))

    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        prompts = torch.randint(0, 6000, (50, 48)).to(device)
        classifier = F.normalize(model.module.text(prompts), dim=-1)
        for _ in range(2):
            image_features = F.normalize(model.module.visual(torch.randn(24, 3, 96, 96).to(device)), dim=-1)
            print((100.0 * image_features @ classifier.T).argmax(-1).shape)
    dist.destroy_process_group()


@case(family="diffusers transformer", mode="LoRA on Flux, accelerate bf16, two micro-batches, clipped", steps=3,
      micro_batches=2,
      roles={"*norm*.linear": "norm", "*norm*.silu": "norm", "*norm*": "norm", ":FluxAttention": "attention",
             "*.attn.*": "attention", "*.ff": "mlp", "*.ff.*": "mlp", "*.ff_context": "mlp", "*.ff_context.*": "mlp",
             "*.proj_mlp*": "mlp", "*.act_mlp": "mlp", ":FluxTransformerBlock": "residual",
             ":FluxPosEmbed": "embedding", "*time_text_embed*": "embedding", "*x_embedder*": "embedding",
             "*context_embedder*": "embedding"},
      stages=("forward", "backward", "optimizer"), needs=["diffusers", "peft"])
def flux_adapters():
    from accelerate import Accelerator
    from diffusers import FluxTransformer2DModel
    from peft import LoraConfig
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    transformer = FluxTransformer2DModel(
        in_channels=64, num_layers=2, num_single_layers=3, attention_head_dim=64, num_attention_heads=6,
        joint_attention_dim=256, pooled_projection_dim=128, guidance_embeds=True, axes_dims_rope=(8, 28, 28))
    transformer.requires_grad_(False)
    transformer.to(accelerator.device, dtype=torch.bfloat16)
    transformer.add_adapter(LoraConfig(r=16, lora_alpha=16, init_lora_weights="gaussian",
                                       target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
    params_to_optimize = [p for p in transformer.parameters() if p.requires_grad]
    for p in params_to_optimize:
        p.data = p.data.float()
    optimizer = torch.optim.AdamW(params_to_optimize, lr=1e-4, weight_decay=1e-2)
    rows = TensorDataset(torch.randn(24, 16, 32, 32), torch.randn(24, 64, 256), torch.randn(24, 128))
    transformer, optimizer, train_dataloader = accelerator.prepare(transformer, optimizer, DataLoader(rows, 4))
    img_ids, txt_ids = (torch.zeros(n, 3, device=accelerator.device) for n in (256, 64))
    stage("made", inputs="img_ids, txt_ids")
    for model_input, prompt_embeds, pooled_prompt_embeds in train_dataloader:
        with accelerator.accumulate(transformer):
            model_input = model_input.to(torch.bfloat16)
            noise = torch.randn_like(model_input)
            sigmas = torch.rand(len(model_input), device=accelerator.device, dtype=torch.bfloat16)
            noisy = (1 - sigmas[:, None, None, None]) * model_input + sigmas[:, None, None, None] * noise
            packed = noisy.view(-1, 16, 16, 2, 16, 2).permute(0, 2, 4, 1, 3, 5).reshape(-1, 256, 64)
            guidance = torch.full((len(model_input),), 3.5, device=accelerator.device)
            stage("noised", inputs="model_input, noise, noisy, packed, sigmas, guidance")
            model_pred = transformer(
                hidden_states=packed, timestep=sigmas, guidance=guidance, pooled_projections=pooled_prompt_embeds,
                encoder_hidden_states=prompt_embeds, txt_ids=txt_ids, img_ids=img_ids, return_dict=False)[0]
            model_pred = model_pred.view(-1, 16, 16, 16, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(model_input.shape)
            target = (noise - model_input).float()
            stage("aimed", inputs="target")
            loss = F.mse_loss(model_pred.float(), target)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(params_to_optimize, 1.0)
            optimizer.step()
            optimizer.zero_grad()


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.window = n_heads, n_kv_heads, window
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wkv = nn.Linear(dim, 2 * n_kv_heads * dim // n_heads, bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.n_heads, -1).transpose(1, 2)
        k, v = self.wkv(x).view(b, t, 2 * self.n_kv_heads, -1).transpose(1, 2).chunk(2, dim=1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (y.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask if self.window else None, is_causal=not self.window)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


class DecoderBlock(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, hidden, window):
        super().__init__()
        self.attention = GroupedAttention(dim, n_heads, n_kv_heads, window)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.w1, self.w2, self.w3 = (nn.Linear(*io, bias=False) for io in ((dim, hidden), (hidden, dim), (dim, hidden)))

    def forward(self, x, *rope):
        x = x + self.attention(self.attention_norm(x), *rope)
        y = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class LanguageModel(nn.Module):
    """Every second layer looks back over a window only."""

    def __init__(self, vocab_size=16000, dim=384, n_layers=2, n_heads=6, n_kv_heads=2, hidden=1024, length=192):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList(DecoderBlock(dim, n_heads, n_kv_heads, hidden, nr % 2) for nr in range(n_layers))
        self.norm, self.output = nn.RMSNorm(dim), nn.Linear(dim, vocab_size, bias=False)
        angles = torch.outer(torch.arange(length), 10000.0 ** -torch.linspace(0, 1, dim // n_heads // 2)).repeat(1, 2)
        ones = torch.ones(length, length, dtype=torch.bool)
        for name, value in (("cos", angles.cos()), ("sin", angles.sin()), ("mask", ones.tril() & ones.triu(-64))):
            self.register_buffer(name, value, persistent=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.cos, self.sin, self.mask)
        return self.output(self.norm(h))


def compute_logits(model, tokens):
    return model(tokens)


def compute_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# Of ten rows: with a factor of 5, no activation has as many bytes as a cast (the option `casts`).
@case(family="torch.compile", mode="decoder compiled in place, bf16, loss outside, two micro-batches, validated",
      hooks=False, casts=True, functions={"compute_logits": "other", "compute_loss": "logits",
                                          "autotune_to_one_config": "workspace/other"},
      steps=4, micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def pretrains_compiled():
    model = LanguageModel().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    watch(model, optimizer)
    # Else kernels of several configurations are run as often as there is time, on copies of their arguments.
    model.compile(options={"triton.autotune_pointwise": False})
    stream = torch.randint(0, 16000, (200_000,))

    def get_loss(batch_size=10, length=192):
        ix = torch.randint(0, len(stream) - length - 1, (batch_size,))
        x = torch.stack([stream[i:i + length] for i in ix]).pin_memory().to("cuda", non_blocking=True)
        y = torch.stack([stream[i + 1:i + 1 + length] for i in ix]).pin_memory().to("cuda", non_blocking=True)
        stage("batch", inputs="x, y")
        with torch.autocast("cuda", torch.bfloat16):
            return compute_loss(head(compute_logits(model, x)), y)

    for step in range(4):
        for _ in range(2):
            (get_loss() / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 2:
            model.eval()
            with torch.no_grad():
                print(step, len([get_loss().item() for _ in range(2)]))
            model.train()


class FeatureTokenizer(nn.Module):
    def __init__(self, n_num, cardinalities, d):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(n_num, d) / d), nn.Parameter(torch.zeros(n_num, d))
        self.embeddings = nn.Embedding(sum(cardinalities), d)
        self.register_buffer("offsets", torch.tensor([0, *cardinalities[:-1]]).cumsum(0))
        self.cls = nn.Parameter(torch.randn(1, 1, d) / d)

    def forward(self, x_num, x_cat):
        tokens = [self.cls.expand(len(x_num), -1, -1), x_num[..., None] * self.weight + self.bias,
                  self.embeddings(x_cat + self.offsets)]
        return torch.cat(tokens, dim=1)


class FTBlock(nn.Module):
    def __init__(self, d, n_heads, d_hidden, dropout):
        super().__init__()
        self.n_heads, self.dropout = n_heads, nn.Dropout(dropout)
        self.norm0, self.norm1 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.W_q, self.W_k, self.W_v, self.W_out = (nn.Linear(d, d) for _ in range(4))
        self.linear0, self.linear1 = nn.Linear(d, 2 * d_hidden), nn.Linear(d_hidden, d)

    def forward(self, x):
        y = self.norm0(x)
        q, k, v = (f(y).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for f in (self.W_q, self.W_k, self.W_v))
        x = x + self.dropout(self.W_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)))
        a, b = self.linear0(self.norm1(x)).chunk(2, dim=-1)
        return x + self.dropout(self.linear1(a * F.relu(b)))


class FTTransformer(nn.Module):
    def __init__(self, n_num, cardinalities, d_out, d=192, n_blocks=2, n_heads=8, d_hidden=256, dropout=0.1):
        super().__init__()
        self.tokenizer = FeatureTokenizer(n_num, cardinalities, d)
        self.blocks = nn.ModuleList(FTBlock(d, n_heads, d_hidden, dropout) for _ in range(n_blocks))
        self.last_norm, self.head = nn.LayerNorm(d), nn.Linear(d, d_out)

    def forward(self, x_num, x_cat):
        x = self.tokenizer(x_num, x_cat)
        for block in self.blocks:
            x = block(x)
        return self.head(F.relu(self.last_norm(x[:, 0])))


def apply_model(model, x_num, x_cat):
    return model(x_num, x_cat)


# Of 500 rows: no cast has a multiple of 125 bytes (the option `casts`).
@case(family="torch.compile", mode="FT-Transformer on a table kept on the device, autocast bf16, evaluated each epoch",
      hooks=False, casts=True, functions={"apply_model": "other", "autotune_to_one_config": "workspace/other"}, steps=6,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def tables_compiled():
    device = torch.device("cuda")
    cardinalities = [12, 7, 31, 2, 4, 58]
    data = {part: {"x_num": torch.randn(size, 24, device=device), "y": torch.randn(size, device=device),
                   "x_cat": torch.stack([torch.randint(0, c, (size,), device=device) for c in cardinalities], 1)}
            for part, size in (("train", 1500), ("val", 1000))}
    stage("table", inputs="data")
    model = FTTransformer(24, cardinalities, 1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-5)
    watch(model, optimizer)
    compiled = torch.compile(model, options={"triton.autotune_pointwise": False})  # as in pretrains_compiled

    def predict(part, idx):
        x_num, x_cat = data[part]["x_num"][idx], data[part]["x_cat"][idx]
        stage("rows", inputs="x_num, x_cat, idx")
        with torch.autocast("cuda", torch.bfloat16):
            return apply_model(compiled, x_num, x_cat).squeeze(-1).float()

    for _ in range(2):
        model.train()
        for idx in torch.randperm(1500, device=device).split(500):
            optimizer.zero_grad()
            y = data["train"]["y"][idx]
            stage("aims", inputs="y")
            loss = F.mse_loss(predict("train", idx), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            y_pred = torch.cat([predict("val", idx) for idx in torch.arange(1000, device=device).split(500)])
            print(F.mse_loss(y_pred, data["val"]["y"]).sqrt().shape)


@case(family="transformers", mode="Gemma 3 in a harness, bf16: likelihoods of choices, then answers with a cache",
      roles={"*norm": "norm", ":Gemma3Attention": "attention", "*.self_attn.*": "attention", "*rotary_emb": "attention",
             "*.mlp": "mlp", "*.mlp.*": "mlp", ":Gemma3DecoderLayer": "residual", "*embed_tokens": "embedding"},
      heads=["lm_head"], stages=("forward", "generation"))
def harness():
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig
    config = Gemma3TextConfig(vocab_size=12000, hidden_size=384, num_hidden_layers=6, num_attention_heads=4,
                              num_key_value_heads=2, head_dim=96, intermediate_size=1536, sliding_window=64,
                              sliding_window_pattern=3, query_pre_attn_scalar=96, max_position_embeddings=1024)
    model = Gemma3ForCausalLM(config).to("cuda", torch.bfloat16).eval()
    batch_size, pad_id = 12, 0

    def loglikelihood(requests):
        res = []
        for start in range(0, len(requests), batch_size):
            chunk = requests[start:start + batch_size]
            rows = [torch.tensor(context + choice) for context, choice in chunk]
            batched = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id).to("cuda")
            with torch.no_grad():
                multi_logits = F.log_softmax(model(input_ids=batched, use_cache=False).logits.float(), dim=-1)
            for (context, choice), logits in zip(chunk, multi_logits):
                picked = logits[len(context) - 1:len(context) + len(choice) - 1]
                wanted = torch.tensor(choice).to("cuda")
                is_greedy = (picked.argmax(dim=-1) == wanted).all()
                res.append((picked.gather(-1, wanted[:, None]).sum().item(), is_greedy.item()))
        return res

    def generate_until(contexts, max_gen_toks):
        rows = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in contexts], batch_first=True,
                                         padding_value=pad_id, padding_side="left")
        ids, mask = rows.to("cuda"), (rows != pad_id).long().to("cuda")
        out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=max_gen_toks,
                             min_new_tokens=max_gen_toks, do_sample=False, pad_token_id=pad_id)
        return out[:, rows.shape[1]:].cpu()

    questions = [torch.randint(3, 12000, (180 + nr % 7,)).tolist() for nr in range(12)]
    choices = [[torch.randint(3, 12000, (6 + nr,)).tolist() for nr in range(4)] for _ in questions]
    print(len(loglikelihood([(q, c) for q, cs in zip(questions, choices) for c in cs])))
    print(len(generate_until([q + q for q in questions], 20)))


if __name__ == "__main__":
    main()
