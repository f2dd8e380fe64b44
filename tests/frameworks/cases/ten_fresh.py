# SPDX-License-Identifier: MIT
"""Ten programs more (with ten_fresh_loops.py): own answers, pages of pictures, organs, loads, sparse words."""
import os

import torch
import torch.nn.functional as F
from program import case, main
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import arguments, sentence, tokenizer

V = 8000


# Projections have modules of their own; what a layer makes itself is its two sums.
@case(family="trl", mode="GKD: Phi-3 answers, a larger one judges all words; bf16, two micro-batches",
      roles={":Phi3RMSNorm": "norm", ":Phi3Attention": "attention", "*.self_attn.*": "attention",
             ":Phi3RotaryEmbedding": "attention", ":Phi3MLP": "mlp", "*.mlp.*": "mlp", ":Phi3DecoderLayer": "residual"},
      heads=["*lm_head"], steps=3, micro_batches=2, stages=("forward", "backward", "optimizer", "generation"),
      needs=["trl", "datasets"])
def learns_by_answering():
    from datasets import Dataset as Table
    from transformers import Phi3Config, Phi3ForCausalLM
    from trl.experimental.gkd import GKDConfig, GKDTrainer

    def made(width, depth):
        return Phi3ForCausalLM(Phi3Config(
            vocab_size=V, hidden_size=width, num_hidden_layers=depth, num_attention_heads=width // 64,
            num_key_value_heads=2, intermediate_size=3 * width, max_position_embeddings=512, pad_token_id=0,
            bos_token_id=None, eos_token_id=None))

    words = tokenizer()
    words.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    table = Table.from_dict({"messages": [[{"role": "user", "content": sentence(nr, 60)},
                                           {"role": "assistant", "content": sentence(nr + 40, 30)}]
                                          for nr in range(24)]})
    GKDTrainer(made(256, 4), made(512, 3), processing_class=words, train_dataset=table, args=GKDConfig(
        output_dir="out", max_steps=3, per_device_train_batch_size=4, gradient_accumulation_steps=2, lmbda=1.0,
        beta=0.5, temperature=0.9, max_new_tokens=16, max_length=128, report_to=[], save_strategy="no",
        disable_tqdm=True, bf16=True, gradient_checkpointing=False, dataloader_pin_memory=False)).train()


class Pages(Dataset):
    """A page is cut into two tiles."""

    def __init__(self, nr, length=96):
        self.nr, self.length = nr, length

    def __len__(self):
        return self.nr

    def __getitem__(self, nr):
        ids = torch.randint(3, V, (self.length,))
        return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids),
                "pixel_values": torch.randn(1, 4, 3, 112, 112), "aspect_ratio_ids": torch.tensor([2]),
                "aspect_ratio_mask": torch.tensor([[1, 1, 0, 0]]),
                "cross_attention_mask": torch.tensor([1, 1, 0, 0]).expand(self.length, 1, 4)}


@case(family="transformers Trainer", mode="LoRA on Mllama, which looks at tiles, bf16, two micro-batches, evaluated",
      roles={"*norm*": "norm", ":Mllama*Attention": "attention", "*.self_attn.*": "attention",
             "*.cross_attn.*": "attention", ":MllamaRotaryEmbedding": "attention", "*.mlp": "mlp", "*.mlp.*": "mlp",
             ":Mllama*Layer": "residual", ":MllamaPrecomputed*": "embedding", "*_positional_embedding.*": "embedding",
             "*patch_embedding": "embedding"},
      functions={"_prepare_cross_attention_mask": "mask", "_prepare_aspect_ratio_attention_mask": "mask",
                 "apply_class_embedding": "embedding"},
      heads=["*lm_head"], steps=3, micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"),
      needs=["peft"])
def reads_pages():
    from peft import LoraConfig, get_peft_model
    from transformers import MllamaConfig, MllamaForConditionalGeneration, Trainer
    model = MllamaForConditionalGeneration(MllamaConfig(
        vision_config={"hidden_size": 192, "num_hidden_layers": 3, "num_global_layers": 2, "attention_heads": 6,
                       "intermediate_size": 768, "image_size": 112, "patch_size": 14,
                       "intermediate_layers_indices": [0, 1], "vision_output_dim": 576},
        text_config={"vocab_size": V, "hidden_size": 384, "num_hidden_layers": 5, "num_attention_heads": 6,
                     "num_key_value_heads": 2, "intermediate_size": 1152, "cross_attention_layers": [1, 3],
                     "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}))
    model = get_peft_model(model, LoraConfig(
        r=16, lora_alpha=32, task_type="CAUSAL_LM",
        target_modules=r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"))
    trainer = Trainer(model, arguments(per_device_train_batch_size=4, per_device_eval_batch_size=4,
                                       gradient_accumulation_steps=2, max_steps=3, bf16=True, learning_rate=1e-4,
                                       warmup_steps=1, lr_scheduler_type="cosine"),
                      train_dataset=Pages(24), eval_dataset=Pages(8))
    trainer.train()
    trainer.evaluate()


class ConvBnReLU(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False), nn.BatchNorm2d(out_channels),
                         nn.ReLU(inplace=True))


class DecoderBlock(nn.Module):
    def __init__(self, in_channels, skip_channels, out_channels):
        super().__init__()
        self.conv1 = ConvBnReLU(in_channels + skip_channels, out_channels)
        self.conv2 = ConvBnReLU(out_channels, out_channels)

    def forward(self, x, skip=None):
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        if skip is not None:
            x = torch.cat([x, skip], dim=1)
        return self.conv2(self.conv1(x))


class UNet(nn.Module):
    """An encoder of timm, whose features the decoder takes up again from the deepest on."""

    def __init__(self, encoder_name="regnety_004", in_chans=1, classes=1, decoder_channels=(128, 64, 48, 32, 16)):
        super().__init__()
        import timm
        self.encoder = timm.create_model(encoder_name, features_only=True, in_chans=in_chans, pretrained=False)
        *skips, deepest = self.encoder.feature_info.channels()
        widths = zip((deepest, *decoder_channels), (*reversed(skips), 0), decoder_channels)
        self.decoder = nn.ModuleList(DecoderBlock(*sizes) for sizes in widths)
        self.segmentation_head = nn.Conv2d(decoder_channels[-1], classes, 3, padding=1)

    def forward(self, x):
        *skips, x = self.encoder(x)
        for block in self.decoder:
            x = block(x, skips.pop() if skips else None)
        return self.segmentation_head(x)


def dice_loss(logits, masks, eps=1.0):
    probs = logits.sigmoid()
    overlap = (probs * masks).sum((2, 3))
    return 1 - ((2 * overlap + eps) / (probs.sum((2, 3)) + masks.sum((2, 3)) + eps)).mean()


# Sums and their activation are a block's own code; what a decoder's block makes itself is upsampled and joined.
@case(family="accelerate", mode="U-Net on RegNet of timm, fp16, channels last, two micro-batches, sliding windows",
      roles={":BatchNorm*": "norm", ":Bottleneck": "residual", "*.act3": "residual", ":DecoderBlock": "other",
             ":UNet": "other", "*": "conv"},
      heads=["segmentation_head"], steps=4, micro_batches=2,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["timm"])
def outlines_organs():
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    model = UNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    train_set = TensorDataset(torch.randn(32, 1, 192, 192), torch.randint(0, 2, (32, 1, 192, 192)).float())
    val_set = TensorDataset(torch.randn(2, 1, 288, 288), torch.randint(0, 2, (2, 1, 288, 288)).float())
    model, optimizer, train_loader, val_loader = accelerator.prepare(
        model, optimizer, DataLoader(train_set, 8, shuffle=True), DataLoader(val_set, 1))
    scheduler = accelerator.prepare(torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=10, power=0.9))

    def sliding_window(image, size=192, stride=96):
        height, width = image.shape[2:]
        total = torch.zeros_like(image)
        count = torch.zeros_like(image)
        for top in range(0, height - size + 1, stride):
            for left in range(0, width - size + 1, stride):
                window = image[:, :, top:top + size, left:left + size]
                total[:, :, top:top + size, left:left + size] += model(window).sigmoid()
                count[:, :, top:top + size, left:left + size] += 1
        return total / count

    for _ in range(2):
        model.train()
        for images, masks in train_loader:
            with accelerator.accumulate(model):
                logits = model(images)
                loss = F.binary_cross_entropy_with_logits(logits, masks) + dice_loss(logits, masks)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 12.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        scores = []
        with torch.no_grad():
            for image, mask in val_loader:
                found = sliding_window(image) > 0.5
                scores.append(accelerator.gather_for_metrics(2 * (found * mask).sum() / (found.sum() + mask.sum() + 1)))
        accelerator.print(torch.stack(scores).mean().shape)


class Loads(Dataset):
    """Windows of a series of seven meters."""

    def __init__(self, nr, context=512, horizon=96):
        self.series, self.context, self.horizon, self.nr = torch.randn(4000, 7), context, horizon, nr

    def __len__(self):
        return self.nr

    def __getitem__(self, nr):
        past = self.series[nr:nr + self.context]
        return {"past_values": past, "future_values": self.series[nr + self.context:nr + self.context + self.horizon]}


@case(family="Lightning", mode="PatchTST of two ranks by DDP, fp32, clipped, one cycle, validated",
      roles={":PatchTSTBatchNorm": "norm", ":PatchTSTAttention": "attention", "*.self_attn.*": "attention",
             "*.ff": "mlp", "*.ff.*": "mlp", ":PatchTSTEncoderLayer": "residual", "*.embedder": "embedding",
             "*.embedder.*": "embedding", "*.positional_encoder": "embedding", "*.head": "other", "*.head.*": "other"},
      functions={"DistributedDataParallel._pre_forward": "gradients", "_ddp_init_helper": "gradients",
                 "_sync_module_states": "communication", "_sync_buffers": "communication"},
      steps=4, stages=("forward", "backward", "optimizer", "evaluation"), needs=["lightning"], ranks=2,
      device="h100-80g,count=2", env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def forecasts_loads():
    import lightning as L
    from torchmetrics import MeanAbsoluteError
    from transformers import PatchTSTConfig, PatchTSTForPrediction
    for name, value in (("LOCAL_RANK", "0"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, value)

    class Forecaster(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = PatchTSTForPrediction(PatchTSTConfig(
                num_input_channels=7, context_length=512, prediction_length=96, patch_length=16, patch_stride=8,
                d_model=128, num_attention_heads=8, num_hidden_layers=3, ffn_dim=256, scaling="std", loss="mse"))
            self.mae = MeanAbsoluteError()

        def training_step(self, batch, batch_idx):
            loss = self.net(**batch).loss
            self.log("train_loss", loss, sync_dist=True)
            return loss

        def validation_step(self, batch, batch_idx):
            out = self.net(**batch)
            self.mae(out.prediction_outputs.contiguous(), batch["future_values"])
            self.log("val_loss", out.loss, sync_dist=True)
            self.log("val_mae", self.mae)

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), 1e-4)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-4, total_steps=8, pct_start=0.4)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    trainer = L.Trainer(accelerator="gpu", devices=int(os.environ.get("WORLD_SIZE", "1")), strategy="ddp", max_epochs=2,
                        gradient_clip_val=1.0, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                        enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Forecaster(), DataLoader(Loads(96), 24, shuffle=True), DataLoader(Loads(48), 24))


@case(family="sentence-transformers", mode="SPLADE: sparse encoder on ModernBERT, bf16, FLOPS penalty, evaluated",
      roles={":LayerNorm": "norm", ":ModernBertAttention": "attention", "*.attn.*": "attention",
             ":ModernBertRotaryEmbedding": "attention", ":ModernBertMLP": "mlp", "*.mlp.*": "mlp",
             ":ModernBertEncoderLayer": "residual", ":ModernBertEmbeddings": "embedding"},
      heads=["*decoder"], steps=4, stages=("forward", "backward", "optimizer", "evaluation"),
      needs=["sentence_transformers", "datasets"])
def sparse_words():
    from datasets import Dataset as Table
    from sentence_transformers import SparseEncoder, SparseEncoderTrainer, SparseEncoderTrainingArguments
    from sentence_transformers.sparse_encoder.losses import SparseMultipleNegativesRankingLoss, SpladeLoss
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer
    from transformers import ModernBertConfig, ModernBertForMaskedLM
    ModernBertForMaskedLM(ModernBertConfig(
        vocab_size=V, hidden_size=384, intermediate_size=576, num_hidden_layers=4, num_attention_heads=6,
        global_attn_every_n_layers=2, local_attention=32, max_position_embeddings=512, pad_token_id=0, bos_token_id=2,
        eos_token_id=2, cls_token_id=2, sep_token_id=2)).save_pretrained("modern")
    tokenizer().save_pretrained("modern")
    words = Transformer("modern", transformer_task="fill-mask", max_seq_length=96)
    model = SparseEncoder(modules=[words, SpladePooling("max")], device="cuda")

    def table(nr):
        return Table.from_dict({"query": [sentence(k, 24) for k in range(nr)],
                                "positive": [sentence(k + 50, 90) for k in range(nr)],
                                "negative": [sentence(k + 90, 90) for k in range(nr)]})

    loss = SpladeLoss(model, SparseMultipleNegativesRankingLoss(model), document_regularizer_weight=3e-5,
                      query_regularizer_weight=5e-5)
    SparseEncoderTrainer(
        model, SparseEncoderTrainingArguments(
            output_dir="out", num_train_epochs=2, per_device_train_batch_size=6, per_device_eval_batch_size=6,
            bf16=True, report_to=[], save_strategy="no", eval_strategy="epoch", disable_tqdm=True,
            dataloader_pin_memory=False),
        train_dataset=table(12), eval_dataset=table(6), loss=loss).train()


if __name__ == "__main__":
    main()
