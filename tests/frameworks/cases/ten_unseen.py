# SPDX-License-Identifier: MIT
"""Ten programs more (with ten_unseen_loops.py): rewarded answers, labelled pixels, a small student, masks, ALBERT."""
import torch
import torch.nn.functional as F
from program import case, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import arguments, sentence, tokenizer

V = 8000


# Norms behind attention and feed-forward; what a layer makes itself is its two sums.
@case(family="trl", mode="GRPO: four answers to each question, rewarded by their length, bf16, two micro-batches",
      roles={":Olmo2RMSNorm": "norm", ":Olmo2Attention": "attention", "*.self_attn.?_proj": "attention",
             ":Olmo2RotaryEmbedding": "attention", ":Olmo2MLP": "mlp", "*.mlp.*": "mlp",
             ":Olmo2DecoderLayer": "residual"},
      functions={"_LogProbEntropyFunction.forward": "logits", "_LogProbEntropyFunction.backward": "logits"},
      heads=["*lm_head"], steps=3, micro_batches=2, stages=("forward", "backward", "optimizer", "generation"),
      needs=["trl", "datasets", "triton"], env={"VTRACE_SIM_COPY_LIMIT": "65536"})
def rewarded_answers():
    from datasets import Dataset as Table
    from transformers import Olmo2Config, Olmo2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer
    model = Olmo2ForCausalLM(Olmo2Config(
        vocab_size=V, hidden_size=384, num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=6,
        intermediate_size=1152, max_position_embeddings=512, pad_token_id=0, bos_token_id=None, eos_token_id=None))
    questions = Table.from_dict({"prompt": [sentence(nr, 60) for nr in range(24)]})

    def reward_len(completions, **kwargs):
        return [-abs(20 - len(completion.split())) / 20 for completion in completions]

    def reward_unique_words(completions, **kwargs):
        return [len(set(completion.split())) / (len(completion.split()) + 1) for completion in completions]

    def rollout(prompts, trainer):
        words = trainer.processing_class
        asked = words(prompts, return_tensors="pt", padding=True, padding_side="left").to(trainer.accelerator.device)
        with torch.no_grad():
            answers = trainer.accelerator.unwrap_model(trainer.model).generate(
                **asked, max_new_tokens=40, min_new_tokens=40, do_sample=True, temperature=1.0)
        length = asked["input_ids"].shape[1]
        return {"prompt_ids": words(prompts)["input_ids"], "completion_ids": answers[:, length:].tolist(),
                "logprobs": None}

    GRPOTrainer(model, reward_funcs=[reward_len, reward_unique_words], processing_class=tokenizer(),
                train_dataset=questions, rollout_func=rollout, args=GRPOConfig(
                    output_dir="out", max_steps=3, per_device_train_batch_size=8, gradient_accumulation_steps=2,
                    num_generations=4, max_completion_length=40, learning_rate=1e-6, temperature=1.0, beta=0.0,
                    loss_type="cispo", report_to=[], save_strategy="no", disable_tqdm=True, bf16=True,
                    gradient_checkpointing=False, dataloader_pin_memory=False)).train()


class Scenes(Dataset):
    def __init__(self, nr, size=192, labels=50):
        self.nr, self.size, self.labels = nr, size, labels

    def __len__(self):
        return self.nr

    def __getitem__(self, nr):
        return {"pixel_values": torch.randn(3, self.size, self.size),
                "labels": torch.randint(0, self.labels, (self.size, self.size))}


# The dropout of a layer is that of its attention; its sums drop whole paths.
@case(family="transformers Trainer", mode="SegFormer labels pixels, fp16, Adafactor, evaluated each epoch, IoU",
      roles={":LayerNorm": "norm", ":BatchNorm2d": "norm", "*.patch_embeddings.proj": "embedding",
             ":SegformerOverlapPatchEmbeddings": "embedding", ":SegformerAttention": "attention",
             "*.attention.*": "attention", "*.sequence_reduction.layer_norm": "norm", "*.hidden_dropout": "attention",
             ":SegformerMixMLP": "mlp", "*.mlp.*": "mlp", ":SegformerLayer": "residual",
             ":SegformerDropPath": "residual", ":SegformerStage": "other", ":SegformerMLP": "mlp",
             "*linear_projections.*": "mlp", "*.linear_fuse": "conv", "*decode_head.activation": "conv",
             "*decode_head.dropout": "conv", ":SegformerDecodeHead": "other",
             ":SegformerForSemanticSegmentation": "logits"},
      heads=["*decode_head.classifier"], steps=4, stages=("forward", "backward", "optimizer", "evaluation"))
def labelled_pixels():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation, Trainer
    model = SegformerForSemanticSegmentation(SegformerConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[32, 64, 160, 256], num_labels=50, decoder_hidden_size=128))

    def preprocess_logits_for_metrics(logits, labels):
        logits = F.interpolate(logits, size=labels.shape[-2:], mode="bilinear", align_corners=False)
        return logits.argmax(dim=1)

    def compute_metrics(eval_pred):
        predicted, wanted = eval_pred
        hits = [((predicted == nr) & (wanted == nr)).sum() for nr in range(50)]
        either = [((predicted == nr) | (wanted == nr)).sum() for nr in range(50)]
        return {"mean_iou": sum(h / max(e, 1) for h, e in zip(hits, either)) / 50}

    Trainer(model, arguments(per_device_train_batch_size=8, per_device_eval_batch_size=4, num_train_epochs=2, fp16=True,
                             optim="adafactor", learning_rate=6e-5, lr_scheduler_type="polynomial",
                             eval_strategy="epoch"),
            train_dataset=Scenes(16), eval_dataset=Scenes(8), compute_metrics=compute_metrics,
            preprocess_logits_for_metrics=preprocess_logits_for_metrics).train()


# What a dense layer joins is of no kind.
@case(family="Lightning", mode="DenseNet teaches MobileNetV3, bf16-mixed, two micro-batches, torchmetrics, validated",
      roles={":BatchNorm2d": "norm", ":InvertedResidual": "residual", "*classifier*": "other", ":_DenseLayer": "other",
             ":_DenseBlock": "other", ":DenseNet": "other", ":MobileNetV3": "other", "*": "conv"},
      functions={"distillation_loss": "logits"},
      heads=["classifier.3", "classifier"], steps=3, micro_batches=2,
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["lightning"])
def small_student():
    import lightning as L
    from torchmetrics import MetricCollection
    from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score
    from torchvision.models import densenet121, mobilenet_v3_large

    def distillation_loss(student, teacher, temperature):
        student = F.log_softmax(student / temperature, dim=1)
        teacher = F.softmax(teacher / temperature, dim=1)
        return F.kl_div(student, teacher, reduction="batchmean") * temperature ** 2

    class Distiller(L.LightningModule):
        def __init__(self, temperature=4.0, alpha=0.7):
            super().__init__()
            self.teacher = densenet121(weights=None, num_classes=100).eval().requires_grad_(False)
            self.student = mobilenet_v3_large(weights=None, num_classes=100, dropout=0.2)
            self.temperature, self.alpha = temperature, alpha
            metrics = MetricCollection([MulticlassAccuracy(100, validate_args=False),
                                        MulticlassF1Score(100, validate_args=False)])
            self.metrics = metrics.clone(prefix="val_")

        def training_step(self, batch, batch_idx):
            x, y = batch
            self.teacher.eval()
            with torch.no_grad():
                wanted = self.teacher(x)
            logits = self.student(x)
            hard = F.cross_entropy(logits, y)
            soft = distillation_loss(logits, wanted, self.temperature)
            self.log_dict({"hard": hard, "soft": soft})
            return self.alpha * soft + (1 - self.alpha) * hard

        def validation_step(self, batch, batch_idx):
            x, y = batch
            logits = self.student(x)
            self.metrics.update(logits, y)
            self.log("val_loss", F.cross_entropy(logits, y))

        def on_validation_epoch_end(self):
            self.log_dict(self.metrics.compute())
            self.metrics.reset()

        def configure_optimizers(self):
            optimizer = torch.optim.RMSprop(self.student.parameters(), 1e-3, alpha=0.9, momentum=0.9, weight_decay=1e-5)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.97)]

    def pictures(nr):
        return TensorDataset(torch.randn(nr, 3, 160, 160), torch.randint(0, 100, (nr,)))

    trainer = L.Trainer(max_epochs=1, precision="bf16-mixed", accumulate_grad_batches=2, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                        num_sanity_val_steps=0)
    trainer.fit(Distiller(), DataLoader(pictures(72), 12, shuffle=True), DataLoader(pictures(24), 12))


# Scores of pixels, and what is computed of them, are logits.
@case(family="transformers", mode="SAM: masks of a grid of points, a picture encoded once, fp16, nothing is trained",
      roles={":LayerNorm": "norm", ":SamLayerNorm": "norm", ":SamPatchEmbeddings": "embedding",
             "*.patch_embed.*": "embedding", ":SamVision*Attention": "attention", "*.attn.*": "attention",
             ":SamMLPBlock": "mlp", "*.mlp.*": "mlp", ":SamVisionLayer": "residual", ":SamVisionNeck": "conv",
             "*.neck.conv?": "conv", ":SamVisionEncoder": "embedding", ":SamPositionalEmbedding": "embedding",
             ":SamPromptEncoder": "embedding", ":SamAttention": "attention", "*attn*_proj": "attention",
             ":SamTwoWayAttentionBlock": "residual", ":SamTwoWayTransformer": "residual",
             "*.upscale_conv?": "conv", "*mask_decoder.activation": "conv", ":SamFeedForward": "mlp",
             ":SamModel": "embedding", "*mlps.*": "mlp", "*prediction_head.*": "mlp", ":SamMaskDecoder": "other"},
      functions={"stability_score": "logits", "upscaled": "logits"}, heads=["mask_decoder"],
      stages=("forward",))
def points_to_masks():
    from transformers import SamConfig, SamMaskDecoderConfig, SamModel, SamPromptEncoderConfig, SamVisionConfig
    model = SamModel(SamConfig(
        vision_config=SamVisionConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, image_size=512,
                                      global_attn_indexes=[2, 5], window_size=14, mlp_dim=1536).to_dict(),
        prompt_encoder_config=SamPromptEncoderConfig(image_size=512).to_dict(),
        mask_decoder_config=SamMaskDecoderConfig().to_dict())).half().to("cuda").eval()

    def upscaled(masks, size):
        return F.interpolate(masks, size, mode="bilinear", align_corners=False)

    def stability_score(masks, offset=1.0):
        inner = (masks > offset).sum((-1, -2), dtype=torch.int32)
        outer = (masks > -offset).sum((-1, -2), dtype=torch.int32)
        return inner / outer.clamp(min=1)

    side = (torch.arange(8) + 0.5) * 64
    grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).reshape(-1, 1, 2)
    for _ in range(2):
        found = []
        with torch.inference_mode():
            pixel_values = torch.randn(1, 3, 512, 512).half().to("cuda")
            embeddings = model.get_image_embeddings(pixel_values)
            for points in grid.split(32):
                points = points[None].half().to("cuda")
                labels = torch.ones(points.shape[:3], dtype=torch.long, device="cuda")
                outputs = model(image_embeddings=embeddings, input_points=points, input_labels=labels,
                                multimask_output=True)
                masks = upscaled(outputs.pred_masks[0], (512, 512))
                scores = outputs.iou_scores.flatten() * stability_score(masks).flatten()
                found.append(((masks > 0).cpu(), scores.cpu()))
        print(len(found), found[0][0].shape)


# Of 14 texts with 122 words: but for scores, nothing has as many bytes as rows of scores (the option `vocabulary`).
def masked_words_loss(call, batch):
    return call(**batch).loss


@case(family="torch.compile", mode="ALBERT, one layer that is passed three times, loss in the graph, NAdam",
      hooks=False, vocabulary=V,
      functions={"masked_words_loss": "other", "autotune_to_one_config": "workspace/other"}, steps=4, needs=["triton"],
      stages=("forward", "backward", "optimizer"),
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})
def shared_layer_compiled():
    from transformers import AlbertConfig, AlbertForMaskedLM
    device = torch.device("cuda")
    model = AlbertForMaskedLM(AlbertConfig(
        vocab_size=V, embedding_size=256, hidden_size=640, num_hidden_layers=3, num_attention_heads=10,
        intermediate_size=2560, max_position_embeddings=256, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)).to(device)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-4, weight_decay=0.01, decoupled_weight_decay=True)
    watch(model, optimizer)
    call = torch.compile(model, options={"triton.autotune_pointwise": False, "shape_padding": False})

    def batches(nr, rows=14, length=122):
        for _ in range(nr):
            ids = torch.randint(5, V, (rows, length))
            masked = torch.rand(rows, length) < 0.15
            batch = {"input_ids": ids.masked_fill(masked, 4), "labels": ids.masked_fill(~masked, -100)}
            batch = {name: rows.to(device) for name, rows in batch.items()}
            stage("batch", inputs="batch")
            yield batch

    model.train()
    for batch in batches(4):
        loss = masked_words_loss(call, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


if __name__ == "__main__":
    main()
