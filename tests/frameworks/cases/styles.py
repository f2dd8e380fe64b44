# SPDX-License-Identifier: MIT
"""Ways of working: adapters, checkpointing, compiled code, a notebook, a program on the command line."""
import torch
import torch.nn.functional as F
from program import case, head, main, stage, watch
from torch import nn

V, B, T, WIDTH = 8000, 8, 112, 256
HF = {"*.self_attn": "attention", "*.attn": "attention", "*.rotary_emb": "attention", "*.mlp": "mlp", "*norm*": "norm",
      "*.ln_?": "norm"}


@case(family="peft", mode="LoRA on GPT-2, checkpointing without reentrance, bf16", roles=HF, heads=["*lm_head"],
      steps=3, stages=("forward", "backward", "optimizer"), needs=["peft"])
def adapters():
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel
    base = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_embd=WIDTH, n_layer=3, n_head=8, use_cache=False))
    base.gradient_checkpointing_enable({"use_reentrant": False})
    base.enable_input_require_grads()
    model = get_peft_model(base.to("cuda", torch.bfloat16), LoraConfig(r=8, target_modules=["c_attn", "c_proj"]))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for _ in range(3):
        ids = torch.randint(0, V, (B, T)).cuda()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (24, -1)).transpose(1, 2).chunk(3, 1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.words, self.layers = nn.Embedding(V, WIDTH), nn.Sequential(*(Layer(WIDTH) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, V, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids))))


def compute(call, ids):
    return call(ids)


def judge(scores, ids):
    return F.cross_entropy(scores.flatten(0, 1), ids.flatten())


def train_compiled(steps=4, **options):
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    watch(model, optimizer)
    call = torch.compile(model, **options)
    for _ in range(steps):
        ids = torch.randint(0, V, (B, T)).cuda()
        stage("batch", inputs="ids")
        scores = head(compute(call, ids))
        judge(scores, ids).backward()
        optimizer.step()
        optimizer.zero_grad()
        del scores


@case(family="torch.compile", mode="default", hooks=False, functions={"compute": "other", "judge": "logits"}, steps=4,
      stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled():
    train_compiled()


@case(family="torch.compile", mode="reduce-overhead", hooks=False, functions={"compute": "other", "judge": "logits"},
      steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled_to_graphs():
    train_compiled(mode="reduce-overhead")


@case(family="torch.compile", mode="aot_eager", hooks=False, functions={"compute": "other", "judge": "logits"}, steps=4,
      stages=("forward", "backward", "optimizer"))
def compiled_eagerly():
    train_compiled(backend="aot_eager")


@case(family="python -c", mode="a plain network", source="program_command.py", roles={"*": "mlp"}, steps=4,
      stages=("forward", "backward", "optimizer"), quick=True)
def command():
    """The file's text is the argument of -c."""


@case(family="notebook", mode="run by nbclient, kernel in a process of its own", source="program_cells.ipynb",
      roles={"*.ffn": "mlp", "*.attend": "attention", "*.attend.*": "attention"}, heads=["*score"], steps=3,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["nbclient", "ipykernel"])
def notebook():
    """The kernel is recorded."""


if __name__ == "__main__":
    main()
