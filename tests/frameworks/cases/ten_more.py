# SPDX-License-Identifier: MIT
"""Ten programs of styles that the others lack (with ten_more_loops.py): loops of libraries, models of torchvision."""
import torch
import torch.nn.functional as F
from program import case, main, watch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import Texts, arguments, sentence, tokenizer

V = 8000


@case(family="transformers Trainer", mode="Mamba, bf16, checkpointing, two micro-batches, evaluated every two steps",
      roles={":MambaRMSNorm": "norm", ":MambaMixer": "mixer", "*.mixer.*": "mixer", ":MambaBlock": "residual"},
      heads=["lm_head"], steps=4, micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"))
def state_spaces():
    from transformers import MambaConfig, MambaForCausalLM, Trainer
    model = MambaForCausalLM(MambaConfig(vocab_size=V, hidden_size=256, num_hidden_layers=4, state_size=16,
                                         use_cache=False))
    Trainer(model, arguments(per_device_train_batch_size=6, per_device_eval_batch_size=6, max_steps=4, bf16=True,
                             gradient_accumulation_steps=2, gradient_checkpointing=True, eval_strategy="steps",
                             eval_steps=2), train_dataset=Texts(48), eval_dataset=Texts(12)).train()


@case(family="Lightning", mode="Swin, 16-mixed with a scaler, two micro-batches, one cycle, torchmetrics, tested",
      roles={":ShiftedWindowAttention": "attention", ":MLP": "mlp", ":SwinTransformerBlock": "residual",
             "*features.0": "embedding", ":PatchMerging": "other", "*.reduction": "other"}, heads=["*head"], steps=3,
      micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"), needs=["lightning"])
def windows():
    import lightning as L
    from torchmetrics.classification import MulticlassAccuracy
    from torchvision.models import SwinTransformer

    class Classifier(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = SwinTransformer(patch_size=[4, 4], embed_dim=96, depths=[2, 2], num_heads=[3, 6],
                                       window_size=[6, 6], stochastic_depth_prob=0.0, num_classes=100)
            self.accuracy = MulticlassAccuracy(100, average="micro", validate_args=False)

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = F.cross_entropy(self(x), y, label_smoothing=0.1)
            self.log("train_loss", loss)
            return loss

        def shared_eval(self, batch, name):
            x, y = batch
            logits = self(x)
            self.accuracy(logits, y)
            self.log(f"{name}_loss", F.cross_entropy(logits, y))
            self.log(f"{name}_acc", self.accuracy)

        def validation_step(self, batch, batch_idx):
            self.shared_eval(batch, "val")

        def test_step(self, batch, batch_idx):
            self.shared_eval(batch, "test")

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), 5e-4, weight_decay=0.05)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-4, total_steps=10)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def pictures(nr):
        return TensorDataset(torch.randn(nr, 3, 96, 96), torch.randint(0, 100, (nr,)))

    trainer = L.Trainer(max_epochs=1, precision="16-mixed", accumulate_grad_batches=2, gradient_clip_val=1.0,
                        logger=False, enable_checkpointing=False, enable_progress_bar=False,
                        enable_model_summary=False)
    module = Classifier()
    trainer.fit(module, DataLoader(pictures(96), 16, shuffle=True), DataLoader(pictures(32), 16))
    trainer.test(module, DataLoader(pictures(32), 16))


class Articles(Dataset):
    def __init__(self, nr):
        self.rows = torch.randint(4, 5000, (nr, 160)), torch.randint(4, 5000, (nr, 96))

    def __len__(self):
        return len(self.rows[0])

    def __getitem__(self, nr):
        return {"input_ids": self.rows[0][nr], "attention_mask": torch.ones(160, dtype=torch.long),
                "labels": self.rows[1][nr]}


@case(family="accelerate", mode="BART, fp16 with a scaler, two micro-batches, generate() in the evaluation of an epoch",
      roles={":BartAttention": "attention", "*.self_attn.*": "attention", "*.encoder_attn.*": "attention",
             "*.fc?": "mlp", "*.activation_fn": "mlp", ":BartEncoderLayer": "residual", ":BartDecoderLayer": "residual",
             "*.embed_*": "embedding", ":BartEncoder": "embedding", ":BartDecoder": "embedding"},
      heads=["*lm_head"], steps=4, micro_batches=2,
      stages=("forward", "backward", "optimizer", "evaluation", "generation"))
def summaries():
    from accelerate import Accelerator
    from transformers import BartConfig, BartForConditionalGeneration, get_linear_schedule_with_warmup
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    model = BartForConditionalGeneration(BartConfig(
        vocab_size=5000, d_model=384, encoder_layers=3, decoder_layers=3, encoder_attention_heads=6,
        decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, max_position_embeddings=256, dropout=0.0,
        attention_dropout=0.0, forced_eos_token_id=None))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, 2, 8)
    model, optimizer, train_loader, eval_loader, schedule = accelerator.prepare(
        model, optimizer, DataLoader(Articles(32), 8), DataLoader(Articles(16), 8), schedule)
    for _ in range(2):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        losses = []
        for batch in eval_loader:
            with torch.no_grad():
                losses.append(accelerator.gather_for_metrics(model(**batch).loss.repeat(8)))
                accelerator.unwrap_model(model).generate(
                    batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=12, min_new_tokens=12,
                    num_beams=1, do_sample=False)
        accelerator.print(torch.cat(losses).mean().shape)


@case(family="sentence-transformers", mode="MPNet, CoSENT for vectors of three sizes, evaluated each epoch", steps=4,
      roles={":MPNetSelfAttention": "attention", "*.attn.*": "attention", ":MPNetAttention": "residual",
             ":MPNetIntermediate": "mlp", "*.intermediate.*": "mlp", "*.output.dense": "mlp", ":LayerNorm": "norm",
             ":MPNetOutput": "residual", ":MPNetEmbeddings": "embedding"},
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["sentence_transformers", "datasets"])
def nested():
    from datasets import Dataset as Table
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, losses, models
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from transformers import MPNetConfig, MPNetModel
    MPNetModel(MPNetConfig(vocab_size=V, hidden_size=384, num_hidden_layers=4, num_attention_heads=6,
                           intermediate_size=1536, hidden_dropout_prob=0.0)).save_pretrained("mpnet")
    tokenizer().save_pretrained("mpnet")
    words = models.Transformer("mpnet", max_seq_length=128)
    model = SentenceTransformer(modules=[words, models.Pooling(384), models.Normalize()], device="cuda")

    def table(nr):
        return Table.from_dict({"sentence1": [sentence(k, 120) for k in range(nr)],
                                "sentence2": [sentence(k + 50, 120) for k in range(nr)],
                                "score": [(k % 5) / 5 for k in range(nr)]})

    SentenceTransformerTrainer(
        model, Arguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=8,
                         per_device_eval_batch_size=8, report_to=[], save_strategy="no", eval_strategy="epoch",
                         disable_tqdm=True, dataloader_pin_memory=False, warmup_steps=1),
        train_dataset=table(16), eval_dataset=table(8),
        loss=losses.MatryoshkaLoss(model, losses.CoSENTLoss(model), [384, 192, 96])).train()


@case(family="torchvision", mode="EfficientNet, fp16 scaler, mixed pictures, average of weights, both evaluated",
      roles={":BatchNorm2d": "norm", "*classifier*": "other", "*": "conv"}, heads=["*classifier.1"], steps=4,
      stages=("forward", "backward", "optimizer", "evaluation"))
def references():
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    from torchvision.models import efficientnet_b0
    from torchvision.transforms import v2
    device = torch.device("cuda")
    model = efficientnet_b0(weights=None, num_classes=100, stochastic_depth_prob=0.0, dropout=0.0)
    model.to(device, memory_format=torch.channels_last)
    averaged = AveragedModel(model, device, multi_avg_fn=get_ema_multi_avg_fn(0.99), use_buffers=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer, [torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=2),
                    torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)], [2])
    scaler, mixed = torch.amp.GradScaler("cuda"), v2.MixUp(num_classes=100)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    data = TensorDataset(torch.randn(32, 3, 128, 128), torch.randint(0, 100, (32,)))

    def collate(rows):
        return mixed(*torch.utils.data.default_collate(rows))

    def evaluate(net):
        net.eval()
        with torch.inference_mode():
            for images, labels in DataLoader(data, 16):
                images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
                criterion(net(images), labels)

    for _ in range(2):
        model.train()
        for images, labels in DataLoader(data, 16, shuffle=True, collate_fn=collate):
            images = images.to(device, memory_format=torch.channels_last)
            labels = labels.to(device)
            with torch.amp.autocast("cuda"):
                loss = criterion(model(images), labels)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            averaged.update_parameters(model)
        schedule.step()
        evaluate(model)
        evaluate(averaged)


class Labelled(Dataset):
    def __init__(self, nr):
        self.rows = torch.randint(3, V, (nr, 120))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, nr):
        return {"input_ids": self.rows[nr], "attention_mask": torch.ones(120, dtype=torch.long), "labels": nr % 4}


# Sizes are such that nothing but a cast has as many bytes as one (the option `casts`).
@case(family="torch.compile", mode="by the Trainer: ELECTRA judges texts, bf16, evaluated", hooks=False, casts=True,
      functions={"Trainer.compute_loss": "other", "send_to_device": "inputs",
                 "autotune_to_one_config": "workspace/other"},
      steps=4, stages=("forward", "backward", "optimizer", "evaluation"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def compiled_by_trainer():
    from transformers import ElectraConfig, ElectraForSequenceClassification, Trainer
    model = ElectraForSequenceClassification(ElectraConfig(
        vocab_size=V, embedding_size=128, hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=1024, num_labels=4))
    trainer = Trainer(model, arguments(per_device_train_batch_size=30, per_device_eval_batch_size=30, max_steps=4,
                                       bf16=True, torch_compile=True),
                      train_dataset=Labelled(120), eval_dataset=Labelled(60))
    watch(model)
    trainer.train()
    trainer.evaluate()


if __name__ == "__main__":
    main()
