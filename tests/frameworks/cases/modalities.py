# SPDX-License-Identifier: MIT
"""Ten programs of kinds that the others lack: pictures with words, CTC, soft prompts, boxes, forecasts, proposals."""
import torch
import torch.nn.functional as F
from program import case, main, stage
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import HF, Texts, arguments, llama

V = 8000


@case(family="pictures and words", mode="bf16, eye and language frozen, the part between them trained", steps=3,
      roles={**HF, "*.fc?": "mlp", "bridge": "mlp", "bridge.*": "mlp"}, heads=["lm_head"],
      stages=("forward", "backward", "optimizer"))
def looks_and_tells():
    from transformers import CLIPVisionConfig, CLIPVisionModel
    eye = CLIPVisionModel(CLIPVisionConfig(hidden_size=192, intermediate_size=768, num_hidden_layers=3,
                                           num_attention_heads=6, image_size=96, patch_size=12))
    language = llama()
    bridge = nn.Sequential(nn.LayerNorm(192), nn.Linear(192, 512), nn.GELU(), nn.Linear(512, 256))
    for part in (eye, language):
        part.requires_grad_(False)
    eye, bridge, language = (part.to("cuda", torch.bfloat16) for part in (eye, bridge, language))
    optimizer = torch.optim.AdamW(bridge.parameters(), lr=1e-3)
    ids, pictures = torch.randint(0, V, (24, 70)), torch.randn(24, 3, 96, 96)
    for ids, pictures in DataLoader(TensorDataset(ids, pictures), batch_size=8):
        ids, pictures = ids.to("cuda"), pictures.to("cuda", torch.bfloat16)
        with torch.no_grad():
            features = eye(pixel_values=pictures).last_hidden_state[:, 1:]
        seen = bridge(features)
        words = language.get_input_embeddings()(ids)
        labels = torch.cat([torch.full(seen.shape[:2], -100, device="cuda"), ids], dim=1)
        out = language(inputs_embeds=torch.cat([seen, words], dim=1), labels=labels)
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Speech(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, nr):
        return {"input_values": torch.randn(16000), "labels": torch.randint(1, 32, (20,))}


@case(family="transformers Trainer", mode="CTC of HuBERT by an own compute_loss, fp16, ear frozen, evaluated", steps=2,
      micro_batches=2,
      roles={**HF, "*feature_extractor.*": "conv", "*pos_conv_embed*": "embedding", "*.feed_forward": "mlp"},
      heads=["lm_head"], stages=("forward", "backward", "optimizer", "evaluation"))
def spells_sounds():
    from transformers import HubertConfig, HubertForCTC, Trainer

    class CTCTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            log_probs = F.log_softmax(outputs.logits, dim=-1, dtype=torch.float32).transpose(0, 1)
            input_lengths = (len(log_probs),) * len(labels)
            target_lengths = (labels.shape[1],) * len(labels)
            loss = F.ctc_loss(log_probs, labels, input_lengths, target_lengths, zero_infinity=True)
            return (loss, outputs) if return_outputs else loss

    model = HubertForCTC(HubertConfig(
        vocab_size=32, hidden_size=192, num_hidden_layers=3, num_attention_heads=6, intermediate_size=768,
        conv_dim=(64,) * 7, num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=4, mask_time_prob=0.0,
        layerdrop=0.0, pad_token_id=0))
    model.freeze_feature_encoder()
    trainer = CTCTrainer(model, arguments(per_device_train_batch_size=3, gradient_accumulation_steps=2, max_steps=2,
                                          per_device_eval_batch_size=3, fp16=True),
                         train_dataset=Speech(), eval_dataset=Speech())
    trainer.train()
    trainer.evaluate()


@case(family="peft", mode="soft prompts before OPT, Trainer, checkpointing, bf16", heads=["*lm_head"], steps=3,
      roles={**HF, "*.fc?": "mlp", "*layer_norm": "norm"}, stages=("forward", "backward", "optimizer"), needs=["peft"])
def prompts_are_learned():
    from peft import PromptTuningConfig, get_peft_model
    from transformers import OPTConfig, OPTForCausalLM, Trainer
    model = OPTForCausalLM(OPTConfig(vocab_size=V, hidden_size=256, num_hidden_layers=4, ffn_dim=1024,
                                     num_attention_heads=8, max_position_embeddings=256, word_embed_proj_dim=256))
    model = get_peft_model(model, PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=20))
    Trainer(model, arguments(per_device_train_batch_size=8, max_steps=3, bf16=True, gradient_checkpointing=True),
            train_dataset=Texts(24)).train()


@case(family="preferences by hand", mode="adapters switched off are the reference, fp32, clipped", roles=HF, steps=3,
      heads=["*lm_head"], functions={"log_chance": "logits"},
      stages=("forward", "backward", "optimizer", "evaluation"), needs=["peft"])
def prefers():
    from peft import LoraConfig, get_peft_model
    policy = get_peft_model(llama(), LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM")).cuda()
    policy.train()
    optimizer = torch.optim.AdamW((p for p in policy.parameters() if p.requires_grad), lr=5e-5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda nr: min(1.0, (nr + 1) / 10))

    def log_chance(scores, ids):
        chances = scores[:, :-1].log_softmax(-1)
        return chances.gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)

    for _ in range(3):
        chosen, rejected = torch.randint(0, V, (4, 100)), torch.randint(0, V, (4, 100))
        both = torch.cat([chosen, rejected]).to("cuda")
        with torch.no_grad(), policy.disable_adapter():
            before = log_chance(policy(input_ids=both).logits, both)
        now = log_chance(policy(input_ids=both).logits, both)
        margins = now - before
        loss = -F.logsigmoid(0.1 * (margins[:4] - margins[4:])).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        schedule.step()


class Mixer(nn.Module):
    def __init__(self, patches, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.across = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.within = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.across(self.norm1(x).mT).mT
        return x + self.within(self.norm2(x))


@case(family="Lightning", mode="average of weights by a callback, bf16, two micro-batches, clipped, cosine, validated",
      steps=3, micro_batches=2, roles={"*.across": "mlp", "*.within": "mlp"},
      stages=("forward", "backward", "optimizer", "evaluation"),
      needs=["lightning"])
def averages_by_callback():
    import lightning
    from lightning.pytorch.callbacks import EMAWeightAveraging

    class Restores(lightning.LightningModule):
        def __init__(self, d=256):
            super().__init__()
            self.cut = nn.Conv2d(3, d, 8, 8)
            self.mask = nn.Parameter(torch.zeros(d))
            self.blocks = nn.Sequential(*(Mixer(144, d) for _ in range(3)))
            self.paint = nn.Linear(d, 192)

        def lost(self, pictures):
            x = self.cut(pictures).flatten(2).mT
            hidden = torch.rand(x.shape[:2], device=x.device) < 0.6
            x = torch.where(hidden[..., None], self.mask, x)
            aims = F.unfold(pictures, 8, stride=8).mT
            errors = (self.paint(self.blocks(x)) - aims).square().mean(-1)
            return (errors * hidden).sum() / hidden.sum().clamp(min=1)

        def training_step(self, batch, nr):
            return self.lost(batch[0])

        def validation_step(self, batch, nr):
            self.log("val", self.lost(batch[0]))

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
            return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)]

    trainer = lightning.Trainer(max_epochs=1, precision="bf16-mixed", accumulate_grad_batches=2, gradient_clip_val=1.0,
                                callbacks=[EMAWeightAveraging(decay=0.9)], logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Restores(), DataLoader(TensorDataset(torch.randn(96, 3, 96, 96)), 16),
                DataLoader(TensorDataset(torch.randn(16, 3, 96, 96)), 16))


class Scenes(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, nr):
        corners = torch.rand(5, 2) * 100
        return torch.rand(3, 192, 192), {"boxes": torch.cat([corners, corners + 40], 1),
                                         "labels": torch.randint(1, 20, (5,))}


@case(family="torchvision detection", mode="RetinaNet on ResNet 18, its own losses, warm-up, evaluated", steps=3,
      roles={"*": "conv"}, functions={"compute_loss": "other"},
      stages=("forward", "backward", "optimizer", "evaluation"))
def finds_boxes():
    from torchvision.models.detection import RetinaNet
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.ops.feature_pyramid_network import LastLevelP6P7
    backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None, returned_layers=[2, 3, 4],
                                   trainable_layers=5, extra_blocks=LastLevelP6P7(256, 256))
    model = RetinaNet(backbone, num_classes=20, min_size=192, max_size=192)
    device = torch.device("cuda")
    model.to(device)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.005, momentum=0.9, weight_decay=0.0005)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    loader = DataLoader(Scenes(), batch_size=4, collate_fn=lambda rows: tuple(zip(*rows)))
    model.train()
    for images, targets in loader:
        images = [image.to(device) for image in images]
        targets = [{name: part.to(device) for name, part in target.items()} for target in targets]
        loss_dict = model(images, targets)
        losses = sum(loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        warmup.step()
    model.eval()
    with torch.inference_mode():
        for images, _ in loader:
            found = model([image.to(device) for image in images])
            [{name: part.cpu() for name, part in row.items()} for row in found]


@case(family="diffusers ControlNet", mode="accelerate fp16, latents of a frozen VAE, checkpointing, two micro-batches",
      steps=2, micro_batches=2, needs=["diffusers"],
      # What a block makes itself is two sums: with the time's embedding, and the residual one.
      roles={"*.attn1": "attention", "*.attn2": "attention", "*.ff": "mlp", "*.nonlinearity": "conv",
             "*.resnets.?": "other", "*conv*": "conv", "*norm*": "norm", "*controlnet_cond_embedding": "conv",
             "*controlnet_*_block*": "conv"},
      stages=("forward", "backward", "optimizer"))
def steers():
    from accelerate import Accelerator
    from diffusers import AutoencoderKL, ControlNetModel, DDPMScheduler, UNet2DConditionModel
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    vae = AutoencoderKL(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
                        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8)
    unet = UNet2DConditionModel(sample_size=32, block_out_channels=(64, 128), layers_per_block=1,
                                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=64,
                                attention_head_dim=8, norm_num_groups=8)
    control = ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(16, 32))
    vae.requires_grad_(False)
    unet.requires_grad_(False)
    control.train()
    control.enable_gradient_checkpointing()
    optimizer = torch.optim.AdamW(control.parameters(), lr=1e-5)
    noise_scheduler = DDPMScheduler()
    data = TensorDataset(torch.randn(16, 3, 64, 64), torch.rand(16, 3, 64, 64), torch.randn(16, 20, 64))
    control, optimizer, loader = accelerator.prepare(control, optimizer, DataLoader(data, 4))
    vae.to(accelerator.device, dtype=torch.float16)
    unet.to(accelerator.device, dtype=torch.float16)
    for pixels, hints, words in loader:
        with accelerator.accumulate(control):
            latents = vae.encode(pixels.to(dtype=torch.float16)).latent_dist.sample()
            latents = latents * vae.config.scaling_factor
            noise = torch.randn_like(latents)
            timesteps = torch.randint(0, 1000, (len(latents),), device=latents.device).long()
            noisy_latents = noise_scheduler.add_noise(latents.float(), noise.float(), timesteps).half()
            down, mid = control(noisy_latents, timesteps, encoder_hidden_states=words, controlnet_cond=hints,
                                return_dict=False)
            found = unet(noisy_latents, timesteps, encoder_hidden_states=words.half(),
                         down_block_additional_residuals=[sample.half() for sample in down],
                         mid_block_additional_residual=mid.half(), return_dict=False)[0]
            loss = F.mse_loss(found.float(), noise.float(), reduction="mean")
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(control.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


@case(family="transformers time series", mode="distributions, fp32, then futures are drawn", steps=3,
      roles={**HF, "*.encoder_attn": "attention", "*.fc?": "mlp", "*layer_norm": "norm"},
      stages=("forward", "backward", "optimizer", "generation"))
def forecasts():
    from transformers import TimeSeriesTransformerConfig, TimeSeriesTransformerForPrediction
    config = TimeSeriesTransformerConfig(
        prediction_length=12, context_length=48, lags_sequence=[1, 2, 3, 7], num_time_features=2, d_model=128,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=512,
        decoder_ffn_dim=512, num_static_categorical_features=1, cardinality=[50], embedding_dimension=[8],
        encoder_layerdrop=0.0, decoder_layerdrop=0.0)
    torch.distributions.Distribution.set_default_validate_args(False)
    model = TimeSeriesTransformerForPrediction(config).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
    seen = 48 + 7

    def draw(nr):
        batch = {"past_values": torch.rand(nr, seen), "past_time_features": torch.rand(nr, seen, 2),
                 "past_observed_mask": torch.ones(nr, seen), "static_categorical_features": torch.zeros(nr, 1).long(),
                 "future_time_features": torch.rand(nr, 12, 2), "future_values": torch.rand(nr, 12)}
        return {name: part.to("cuda") for name, part in batch.items()}

    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        model(**draw(64)).loss.backward()
        optimizer.step()
    model.eval()
    batch = draw(8)
    del batch["future_values"]
    futures = model.generate(**batch).sequences
    futures.mean(1).cpu()


@case(family="transformers Seq2SeqTrainer", mode="T5, bf16, Adafactor, evaluated by beams", steps=3,
      roles={"*SelfAttention": "attention", "*EncDecAttention": "attention", "*DenseReluDense": "mlp",
             "*layer_norm": "norm", "*final_layer_norm": "norm"}, heads=["lm_head"],
      stages=("forward", "backward", "optimizer", "generation", "evaluation"))
def shortens():
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration

    class Letters(Dataset):
        def __len__(self):
            return 24

        def __getitem__(self, nr):
            return {"input_ids": torch.randint(2, V, (120,)), "labels": torch.randint(2, V, (40,))}

    model = T5ForConditionalGeneration(T5Config(
        vocab_size=V, d_model=256, d_kv=32, d_ff=768, num_layers=2, num_heads=8, feed_forward_proj="gated-gelu",
        tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
    trainer = Seq2SeqTrainer(model, Seq2SeqTrainingArguments(
        output_dir="out", report_to=[], save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
        num_train_epochs=1, per_device_train_batch_size=8, per_device_eval_batch_size=8, bf16=True, optim="adafactor",
        predict_with_generate=True, generation_max_length=12, generation_num_beams=3, eval_strategy="epoch"),
        train_dataset=Letters(), eval_dataset=Letters(),
        compute_metrics=lambda found: {"length": float((found.predictions > 0).sum(-1).mean())})
    trainer.train()


@case(family="transformers", mode="a small model proposes, the large one judges; then a cache of fixed length, fp16",
      roles=HF, heads=["lm_head"], stages=("generation",))
def proposals():
    from transformers import LlamaConfig, LlamaForCausalLM

    def made(width, depth):
        return LlamaForCausalLM(LlamaConfig(
            vocab_size=V, hidden_size=width, num_hidden_layers=depth, num_attention_heads=8, num_key_value_heads=4,
            intermediate_size=3 * width, eos_token_id=1, bos_token_id=2, pad_token_id=0)).half().cuda().eval()

    target, draft = made(512, 4), made(128, 2)
    ids = torch.randint(3, V, (1, 600)).to("cuda")
    target.generate(ids, assistant_model=draft, max_new_tokens=24, min_new_tokens=24, do_sample=False)
    ids = torch.randint(3, V, (8, 200)).to("cuda")
    mask = torch.ones_like(ids)
    target.generate(ids, attention_mask=mask, max_new_tokens=16, min_new_tokens=16, do_sample=False,
                    cache_implementation="static", disable_compile=True)


if __name__ == "__main__":
    main()
