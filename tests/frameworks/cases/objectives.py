# SPDX-License-Identifier: MIT
"""Programs in styles that the others lack, scored once: rewards, pairs, DoRA, a closure, a tutorial."""
import torch
import torch.nn.functional as F
from program import case, main
from torch import nn
from torch.utils.data import DataLoader
from trainers import HF, Texts, llama, sentence, tokenizer

V = 8000


@case(family="trl rewards", mode="pairs of answers, bf16", roles=HF, steps=3,
      stages=("forward", "backward", "optimizer"), needs=["trl", "datasets"])
def rewards():
    from datasets import Dataset as Table
    from transformers import Qwen2Config, Qwen2ForSequenceClassification
    from trl import RewardConfig, RewardTrainer
    model = Qwen2ForSequenceClassification(Qwen2Config(
        vocab_size=V, hidden_size=256, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2,
        intermediate_size=704, num_labels=1, pad_token_id=0, use_cache=False))
    table = Table.from_dict({"chosen": [sentence(nr, 90) for nr in range(24)],
                             "rejected": [sentence(nr + 40, 90) for nr in range(24)]})
    RewardTrainer(model, args=RewardConfig(
        output_dir="out", max_steps=3, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        disable_tqdm=True, bf16=True, gradient_checkpointing=False, dataloader_pin_memory=False),
        train_dataset=table, processing_class=tokenizer()).train()


@case(family="sentence-transformers pairs", mode="cross-encoder, judged by its own trainer", roles=HF, steps=3,
      stages=("forward", "backward", "optimizer"), needs=["sentence_transformers", "datasets"])
def pairs_are_judged():
    from datasets import Dataset as Table
    from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
    from transformers import RobertaConfig, RobertaForSequenceClassification
    RobertaForSequenceClassification(RobertaConfig(
        vocab_size=V, hidden_size=256, num_hidden_layers=3, num_attention_heads=8, intermediate_size=1024,
        num_labels=1, pad_token_id=0)).save_pretrained("pairs")
    tokenizer().save_pretrained("pairs")
    model = CrossEncoder("pairs", device="cuda", max_length=120)
    table = Table.from_dict({"a": [sentence(nr, 50) for nr in range(24)],
                             "b": [sentence(nr + 7, 50) for nr in range(24)], "label": [nr % 2 for nr in range(24)]})
    CrossEncoderTrainer(model, CrossEncoderTrainingArguments(
        output_dir="out", max_steps=3, per_device_train_batch_size=8, report_to=[], save_strategy="no",
        disable_tqdm=True, dataloader_pin_memory=False), train_dataset=table,
        loss=BinaryCrossEntropyLoss(model)).train()


@case(family="peft", mode="DoRA on Llama, autocast fp16, scaler, clipped", roles=HF, heads=["*lm_head"], steps=3,
      stages=("forward", "backward", "optimizer"), needs=["peft"])
def decomposed():
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(llama(), LoraConfig(r=8, use_dora=True, target_modules=["q_proj", "v_proj", "up_proj"]))
    model.cuda().train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3, fused=True)
    scaler = torch.amp.GradScaler()
    for batch in DataLoader(Texts(24), 8):
        ids = batch["input_ids"].to("cuda")
        with torch.autocast("cuda", torch.float16):
            loss = model(input_ids=ids, labels=ids).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)


@case(family="style by hand", mode="a picture is what is trained, LBFGS with a closure, VGG frozen", steps=3,
      roles={"*": "conv"}, functions={"gram": "other"}, stages=("forward", "backward", "optimizer", "evaluation"))
def paints_over():
    from torchvision.models import vgg11
    eye = vgg11(weights=None).features[:11].cuda().eval().requires_grad_(False)
    picture = torch.rand(2, 3, 160, 160, device="cuda").requires_grad_()
    wanted = torch.rand(2, 3, 160, 160).cuda()
    optimizer = torch.optim.LBFGS([picture], max_iter=3, history_size=4)

    def gram(x):
        x = x.flatten(2)
        return x @ x.mT / x.shape[-1]

    with torch.no_grad():
        style = gram(eye(wanted))
    for _ in range(3):
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(gram(eye(picture)), style) * 1e3
            loss.backward()
            return loss
        optimizer.step(closure)


@case(family="tutorial", mode="nn.Transformer, autocast, scaler, teacher's words, then greedy ones", steps=3,
      roles={"*self_attn": "attention", "*self_attn.*": "attention", "*multihead_attn": "attention",
             "*multihead_attn.*": "attention", "*linear?": "mlp", "*norm*": "norm"}, heads=["generator"],
      stages=("forward", "backward", "optimizer", "evaluation"))
def tutors():
    class Seq2Seq(nn.Module):
        def __init__(self, d=256):
            super().__init__()
            self.transformer = nn.Transformer(d, 8, 2, 2, 1024, 0.1, batch_first=True)
            self.generator = nn.Linear(d, V)
            self.src_tok_emb, self.tgt_tok_emb = nn.Embedding(V, d), nn.Embedding(V, d)
            self.positions = nn.Parameter(torch.zeros(1, 128, d))

        def embed(self, table, ids):
            return table(ids) * 16 + self.positions[:, :ids.shape[1]]

        def decode(self, tgt, memory):
            mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
            return self.transformer.decoder(self.embed(self.tgt_tok_emb, tgt), memory, tgt_mask=mask)

        def encode(self, src):
            return self.transformer.encoder(self.embed(self.src_tok_emb, src))

        def forward(self, src, tgt):
            return self.generator(self.decode(tgt, self.encode(src)))

    DEVICE = torch.device("cuda")
    transformer = Seq2Seq().to(DEVICE)
    loss_fn = nn.CrossEntropyLoss(ignore_index=1)
    optimizer, scaler = torch.optim.Adam(transformer.parameters(), lr=1e-4, betas=(0.9, 0.98)), torch.amp.GradScaler()
    for _ in range(3):
        src, tgt = torch.randint(2, V, (8, 90)).to(DEVICE), torch.randint(2, V, (8, 80)).to(DEVICE)
        with torch.autocast("cuda", torch.float16):
            logits = transformer(src, tgt[:, :-1])
            loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[:, 1:].reshape(-1))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    transformer.eval()
    with torch.no_grad():
        src = torch.randint(2, V, (1, 90)).to(DEVICE)
        memory, ys = transformer.encode(src), torch.ones(1, 1, dtype=torch.long, device=DEVICE)
        for _ in range(8):
            ys = torch.cat([ys, transformer.generator(transformer.decode(ys, memory)[:, -1]).argmax(1)[:, None]], 1)


if __name__ == "__main__":
    main()
