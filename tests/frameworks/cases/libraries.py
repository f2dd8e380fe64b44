# SPDX-License-Identifier: MIT
"""Programs of libraries around the loop: trl, Lightning, diffusers, torchvision, accelerate, timm, pipelines."""
import torch
import torch.nn.functional as F
from program import case, main, stage
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from trainers import HF, Texts, arguments, llama, sentence, tokenizer

V = 8000


@case(family="FSDP1", mode="one rank of four, flat parameters, mixed precision", steps=3,
      roles={"*self_attn": "attention", "*self_attn.*": "attention", "*linear?": "mlp"}, heads=["*_wrapped_module.2"],
      functions={"_alloc_storage": "weights", "_pre_unshard": "weights", "_reduce_grad": "gradients"},
      stages=("forward", "backward", "optimizer"))
def sharded_by_the_old_way():
    import functools

    import torch.distributed as dist
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True, norm_first=True)
    net = nn.Sequential(nn.Embedding(V, 256), nn.TransformerEncoder(layer, 3, enable_nested_tensor=False),
                        nn.Linear(256, V))
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.TransformerEncoderLayer})
    model = FullyShardedDataParallel(net, auto_wrap_policy=policy, device_id=0, use_orig_params=True,
                                     mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(3):
        ids = torch.randint(0, V, (8, 104)).cuda()
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


@case(family="trl", mode="DPO, bf16, frozen reference", roles=HF, steps=2,
      functions={"_ChunkedLogProbFunction.forward": "logits", "_ChunkedLogProbFunction.backward": "logits"},
      stages=("forward", "backward", "optimizer"), needs=["trl", "datasets"])
def preferences():
    from datasets import Dataset as Table
    from trl import DPOConfig, DPOTrainer
    table = Table.from_dict({"prompt": [sentence(nr, 20) for nr in range(8)],
                             "chosen": [sentence(nr + 9, 60) for nr in range(8)],
                             "rejected": [sentence(nr + 40, 60) for nr in range(8)]})
    DPOTrainer(llama(), llama(), args=DPOConfig(
        output_dir="out", max_steps=2, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        disable_tqdm=True, bf16=True, gradient_checkpointing=False, dataloader_pin_memory=False),
        train_dataset=table, processing_class=tokenizer()).train()


@case(family="Lightning", mode="GAN by manual optimization", steps=4, roles={"*": "conv"},
      stages=("forward", "backward", "optimizer"), needs=["lightning"])
def adversaries():
    import lightning

    class Gan(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.maker = nn.Sequential(nn.ConvTranspose2d(64, 128, 4), nn.BatchNorm2d(128), nn.ReLU(),
                                       nn.ConvTranspose2d(128, 64, 4, 4), nn.BatchNorm2d(64), nn.ReLU(),
                                       nn.ConvTranspose2d(64, 3, 4, 4), nn.Tanh())
            self.judge = nn.Sequential(nn.Conv2d(3, 64, 4, 4), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 4),
                                       nn.LeakyReLU(0.2), nn.Conv2d(128, 1, 4))

        def training_step(self, batch, nr):
            of_maker, of_judge = self.optimizers()
            noise = torch.randn(len(batch[0]), 64, 1, 1, device=self.device)
            made = self.maker(noise)
            real, fake = self.judge(batch[0]), self.judge(made.detach())
            loss = F.softplus(-real).mean() + F.softplus(fake).mean()
            of_judge.zero_grad()
            self.manual_backward(loss)
            of_judge.step()
            of_maker.zero_grad()
            self.manual_backward(F.softplus(-self.judge(made)).mean())
            of_maker.step()

        def configure_optimizers(self):
            return [torch.optim.Adam(part.parameters(), 2e-4, (0.5, 0.99)) for part in (self.maker, self.judge)]

    trainer = lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)
    trainer.fit(Gan(), DataLoader(TensorDataset(torch.randn(128, 3, 64, 64)), 32))


@case(family="diffusers pipeline", mode="latent diffusion sampled and decoded, fp16", needs=["diffusers"],
      roles={"*.attn1": "attention", "*.attn2": "attention", "*.ff": "mlp", "*.resnets.?": "conv", "*norm*": "norm"},
      stages=("forward",))
def paints():
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    unet = UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1,
                                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=64,
                                attention_head_dim=8, norm_num_groups=8)
    vae = AutoencoderKL(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
                        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8)
    pipeline = StableDiffusionPipeline(vae=vae, unet=unet, scheduler=DDIMScheduler(), text_encoder=None,
                                       tokenizer=None, safety_checker=None, feature_extractor=None,
                                       requires_safety_checker=False).to("cuda", torch.float16)
    pipeline.set_progress_bar_config(disable=True)
    words, nothing = (torch.randn(4, 20, 64).to("cuda", torch.float16) for _ in range(2))
    stage("words", inputs="words, nothing")
    pipeline(prompt_embeds=words, negative_prompt_embeds=nothing, num_inference_steps=4, guidance_scale=5.0,
             output_type="np")


@case(family="transformers Trainer", mode="masked words of BERT, fp16, evaluated with predictions", roles=HF,
      heads=["*decoder"], steps=3, stages=("forward", "backward", "optimizer", "evaluation"))
def masked_words():
    from transformers import BertConfig, BertForMaskedLM, Trainer
    model = BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=256, num_hidden_layers=3, num_attention_heads=8,
                                       intermediate_size=1024))
    trainer = Trainer(model, arguments(per_device_train_batch_size=8, per_device_eval_batch_size=4, max_steps=3,
                                       fp16=True),
                      train_dataset=Texts(24), eval_dataset=Texts(12),
                      compute_metrics=lambda found: {"right": float((found.predictions.argmax(-1) > 0).mean())})
    trainer.train()
    trainer.evaluate()


class Pictures(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, nr):
        return torch.randn(3, 96, 96), torch.randint(0, 11, (96, 96))


@case(family="torchvision", mode="segmentation, SGD, pinned batches", steps=3,
      roles={":BatchNorm2d": "norm", ":LRASPP": "logits", "*": "conv"}, heads=["*.low_classifier", "*.high_classifier"],
      functions={"cross_entropy": "logits"}, stages=("forward", "backward", "optimizer"))
def segments():
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=11).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True)
    model.train()
    for images, labels in DataLoader(Pictures(), 4, pin_memory=True):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = F.cross_entropy(model(images)["out"], labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


@case(family="accelerate", mode="layers offloaded to the host, inference in fp16", roles=HF, heads=["lm_head"],
      stages=("forward",), functions={"set_module_tensor_to_device": "weights"})
def offloaded():
    from accelerate import cpu_offload
    model = llama().half().eval()
    cpu_offload(model, torch.device("cuda"))
    with torch.no_grad():
        for _ in range(3):
            ids = torch.randint(0, V, (8, 120)).cuda()
            chances = model(ids).logits[:, -1].float().softmax(-1)
            chances.topk(5)


@case(family="transformers pipeline", mode="text generation in a batch, beams", roles=HF, heads=["lm_head"],
      stages=("generation",))
def text_pipeline():
    from transformers import GPT2Config, GPT2LMHeadModel, pipeline
    model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_embd=256, n_layer=3, n_head=8, bos_token_id=2, eos_token_id=2))
    words = tokenizer()
    words.padding_side = "left"
    write = pipeline("text-generation", model=model, tokenizer=words, device=0, batch_size=4)
    write([sentence(nr, 50) for nr in range(8)], max_new_tokens=12, min_new_tokens=12, num_beams=3, do_sample=False)


@case(family="timm", mode="vision transformer, fp16 scaler, checkpointing, layer decay, two micro-batches", steps=3,
      micro_batches=2, heads=["head"],
      roles={"*.attn": "attention", "*.mlp": "mlp", "*norm*": "norm", "patch_embed*": "embedding"},
      stages=("forward", "backward", "optimizer"), needs=["timm"])
def vision_transformer():
    import timm
    import timm.optim
    model = timm.create_model("vit_tiny_patch16_224", img_size=96, num_classes=200).cuda()
    model.set_grad_checkpointing()
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, layer_decay=0.8)
    scaler = torch.amp.GradScaler("cuda")
    model.train()
    for _ in range(3):
        for _ in range(2):
            images, labels = torch.randn(16, 3, 96, 96).cuda(), torch.randint(0, 200, (16,)).cuda()
            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(images), labels, label_smoothing=0.1) / 2
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@case(family="transformers Seq2SeqTrainer", mode="Whisper, bf16, evaluated", steps=2, heads=["proj_out"],
      roles={"*self_attn": "attention", "*encoder_attn": "attention", "*fc?": "mlp", "*conv?": "conv"},
      stages=("forward", "backward", "optimizer", "evaluation"))  # without metrics to compute it generates nothing
def hears():
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, WhisperConfig, WhisperForConditionalGeneration

    class Sounds(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, nr):
            return {"input_features": torch.randn(80, 400), "labels": torch.randint(5, V, (40,))}

    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=V, d_model=192, encoder_layers=2, decoder_layers=2, encoder_attention_heads=6,
        decoder_attention_heads=6, encoder_ffn_dim=768, decoder_ffn_dim=768, max_source_positions=200,
        max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None))
    trainer = Seq2SeqTrainer(model, Seq2SeqTrainingArguments(
        output_dir="out", report_to=[], save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False, max_steps=2,
        per_device_train_batch_size=4, per_device_eval_batch_size=4, bf16=True, predict_with_generate=True,
        generation_max_length=20), train_dataset=Sounds(), eval_dataset=Sounds())
    trainer.train()
    trainer.evaluate()


if __name__ == "__main__":
    main()
