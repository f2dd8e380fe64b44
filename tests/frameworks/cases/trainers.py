# SPDX-License-Identifier: MIT
"""Loops that belong to a library: Trainer, Lightning, accelerate, trl, sentence-transformers."""
import torch
import torch.nn.functional as F
from program import case, main, stage
from torch import nn
from torch.utils.data import DataLoader, Dataset

V, T = 8000, 112
# BertSelfOutput and BertOutput project in a module of their own; what they make themselves is the sum with the input.
HF = {"*norm*": "norm", "*.ln_?": "norm", "*LayerNorm": "norm",
      "*.self_attn": "attention", "*.attn": "attention", "*.attention": "attention", "*.rotary_emb": "attention",
      "*.attention.output.*": "attention", "*.attention.output": "residual",
      "*.mlp": "mlp", "*.intermediate": "mlp", "*layer.?.output.*": "mlp", "*layer.?.output": "residual",
      "*.embeddings": "embedding"}


def llama(**more):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=V, hidden_size=256, num_hidden_layers=3, num_attention_heads=8,
                         num_key_value_heads=4, intermediate_size=768, use_cache=False, **more)
    return LlamaForCausalLM(config)


class Texts(Dataset):
    def __init__(self, nr):
        self.rows = torch.randint(0, V, (nr, T))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, nr):
        return {"input_ids": self.rows[nr], "labels": self.rows[nr]}


def arguments(**more):
    from transformers import TrainingArguments
    return TrainingArguments(output_dir="out", report_to=[], save_strategy="no", disable_tqdm=True, logging_steps=50,
                             dataloader_pin_memory=False, **more)


@case(family="transformers Trainer", mode="bf16 autocast, evaluation after each epoch", roles=HF, heads=["lm_head"],
      steps=4, stages=("forward", "backward", "optimizer", "evaluation"), quick=True)
def trainer_evaluates():
    from transformers import Trainer
    Trainer(llama(), arguments(per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=2,
                               bf16=True, eval_strategy="epoch"),
            train_dataset=Texts(16), eval_dataset=Texts(16)).train()


@case(family="transformers Trainer", mode="fp32, two micro-batches, checkpointing", roles=HF, heads=["lm_head"],
      steps=3, micro_batches=2, stages=("forward", "backward", "optimizer"))
def trainer_accumulates():
    from transformers import Trainer
    model = llama()
    Trainer(model, arguments(per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3,
                             gradient_checkpointing=True), train_dataset=Texts(32)).train()


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, 8, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.ffn(self.norm2(x))


class Writer(nn.Module):
    def __init__(self, width=256, depth=3):
        super().__init__()
        self.words, self.layers = nn.Embedding(V, width), nn.Sequential(*(Layer(width) for _ in range(depth)))
        self.norm, self.score = nn.LayerNorm(width), nn.Linear(width, V, bias=False)

    def forward(self, ids):
        return self.score(self.norm(self.layers(self.words(ids))))


WRITER = {"*.attend": "attention", "*.attend.*": "attention", "*.ffn": "mlp"}


@case(family="Lightning", mode="bf16-mixed, validation in each epoch", roles=WRITER, heads=["*score"], steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["lightning"])
def lightning_validates():
    import lightning

    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Writer()

        def training_step(self, batch, nr):
            scores = self.model(batch["input_ids"])
            return F.cross_entropy(scores[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())

        def validation_step(self, batch, nr):
            scores = self.model(batch["input_ids"])
            self.log("val", F.cross_entropy(scores[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten()))

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    trainer = lightning.Trainer(max_epochs=2, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Lit(), DataLoader(Texts(16), 8), DataLoader(Texts(16), 8))


@case(family="accelerate", mode="bf16, two micro-batches, clipped", roles=WRITER, heads=["*score"], steps=3,
      micro_batches=2, stages=("forward", "backward", "optimizer"), quick=True)
def accelerate_accumulates():
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = Writer()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Texts(48), 8))
    for batch in loader:
        with accelerator.accumulate(model):
            scores = model(batch["input_ids"])
            loss = F.cross_entropy(scores.flatten(0, 1), batch["labels"].flatten())
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def tokenizer(folder="words"):
    """A word-level tokenizer of made-up words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    words = {"[PAD]": 0, "[UNK]": 1, "[EOS]": 2, **{f"w{nr}": nr + 3 for nr in range(V - 3)}}
    plain = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]")


def sentence(nr, length=T):
    return " ".join(f"w{(nr * 7919 + k * 104729) % (V - 3)}" for k in range(length))


@case(family="trl", mode="SFT with LoRA, bf16, scores in chunks", roles=HF, steps=3,
      functions={"_ChunkedLogProbFunction.forward": "logits", "_ChunkedLogProbFunction.backward": "logits"},
      stages=("forward", "backward", "optimizer"), needs=["trl", "peft", "datasets"])
def trl_tunes():
    from datasets import Dataset as Table
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer
    table = Table.from_dict({"text": [sentence(nr) for nr in range(32)]})
    SFTTrainer(llama(), SFTConfig(output_dir="out", max_steps=3, per_device_train_batch_size=4, report_to=[],
                                  save_strategy="no", disable_tqdm=True, bf16=True, gradient_checkpointing=False,
                                  max_length=T, dataloader_pin_memory=False),
               train_dataset=table, processing_class=tokenizer(),
               peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).train()


@case(family="sentence-transformers", mode="fp32, ranking loss within the batch", roles=HF, steps=3,
      stages=("forward", "backward", "optimizer"), needs=["sentence_transformers", "datasets"])
def sentences_are_ranked():
    from datasets import Dataset as Table
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, losses, models
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from transformers import BertConfig, BertModel
    BertModel(BertConfig(vocab_size=V, hidden_size=256, num_hidden_layers=3, num_attention_heads=8,
                         intermediate_size=1024)).save_pretrained("small")
    tokenizer().save_pretrained("small")
    words = models.Transformer("small", max_seq_length=T)
    model = SentenceTransformer(modules=[words, models.Pooling(256)], device="cuda")
    table = Table.from_dict({"anchor": [sentence(nr) for nr in range(24)],
                             "positive": [sentence(nr + 50) for nr in range(24)]})
    SentenceTransformerTrainer(
        model, Arguments(output_dir="out", max_steps=3, per_device_train_batch_size=8, report_to=[],
                         save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False),
        train_dataset=table, loss=losses.MultipleNegativesRankingLoss(model)).train()


if __name__ == "__main__":
    main()
