# SPDX-License-Identifier: MIT
"""Trainers of libraries that note what they do when (stage_truth.py): a few steps with evaluation."""
import logging
import sys
import warnings

import stage_truth as truth
import torch
from torch import nn

W = 128


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(W, 4 * W)
        self.norm = nn.LayerNorm(4 * W)
        self.second = nn.Linear(4 * W, W)

    def forward(self, x):
        return self.second(self.norm(nn.functional.gelu(self.first(x))))


class Rows(torch.utils.data.Dataset):
    def __init__(self, nr, **row):
        self.nr, self.row = nr, row

    def __len__(self):
        return self.nr

    def __getitem__(self, index):
        return self.row


def loader(nr):
    row = {"x": torch.ones(64, W), "labels": torch.ones(64, W)}
    return torch.utils.data.DataLoader(Rows(nr, **row), batch_size=4)


def trainer(precision, accumulate):
    """transformers' Trainer, evaluation every two steps."""
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

    class Count(TrainerCallback):
        def on_step_end(self, args, state, control, **keywords):
            truth.step(accumulate)

    model = LlamaForCausalLM(LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2,
                                         num_attention_heads=4, num_key_value_heads=2, vocab_size=1000))
    arguments = TrainingArguments("output", per_device_train_batch_size=2, per_device_eval_batch_size=4,
                                  gradient_accumulation_steps=accumulate, max_steps=4, eval_strategy="steps",
                                  eval_steps=2, save_strategy="no", report_to=[], disable_tqdm=True,
                                  bf16=precision == "bf16", fp16=precision == "fp16")
    tokens = torch.zeros(64, dtype=torch.long)
    truth.watch_all(model)
    Trainer(model, arguments, train_dataset=Rows(8 * accumulate, input_ids=tokens, labels=tokens),
            eval_dataset=Rows(8, input_ids=tokens, labels=tokens), callbacks=[Count()]).train()


def lightning(precision, accumulate, optimizer="AdamW"):
    """Lightning's loops run forward and backward in a closure of the optimizer's step."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def compute(self, batch, stage):
            with truth.stage(stage):
                loss = nn.functional.mse_loss(self.net(batch["x"]), batch["labels"])
            with truth.stage("any"):
                self.log(stage, loss)
            return loss

        def training_step(self, batch, index):
            return self.compute(batch, "forward")

        def validation_step(self, batch, index):
            self.compute(batch, "evaluation")

        def configure_optimizers(self):
            return getattr(torch.optim, optimizer)(self.parameters(), 1e-3)

    class Count(lightning.Callback):
        last = 0

        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step != self.last:
                truth.step(accumulate)
            self.last = trainer.global_step

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    truth.watch_backward()
    truth.watch_optimizers(with_closures=False)
    lightning.Trainer(max_epochs=2, accelerator="cuda", devices=1, precision=precision, logger=False,
                      accumulate_grad_batches=accumulate, callbacks=[Count()], enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False,
                      limit_train_batches=2 * accumulate).fit(Module(), loader(32), loader(8))


def accelerate(precision, accumulate):
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision=precision, gradient_accumulation_steps=accumulate)
    model = truth.watch_all(Net())
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, train, test = accelerator.prepare(model, optimizer, loader(32), loader(8))
    for _ in range(2):
        model.train()
        for batch in train:
            with accelerator.accumulate(model):
                accelerator.backward(nn.functional.mse_loss(model(batch["x"]), batch["labels"]))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    truth.step(accumulate)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        for batch in test:
            with torch.no_grad():
                made = model(batch["x"])
            accelerator.gather_for_metrics((made, batch["labels"]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library, precision, accumulate, *more = sys.argv[1:]
    {f.__name__: f for f in (trainer, lightning, accelerate)}[library](precision, int(accumulate), *more)
    truth.say()
