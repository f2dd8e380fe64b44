# SPDX-License-Identifier: MIT
"""Programs that take the same memory in every run, however their threads, workers and processes take turns."""
import sys
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 64, 64, generator=generator), index % 10


def network():
    width = 32
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(8),
                         nn.Flatten(), nn.Linear(64 * width, 10)).to("cuda")


def train(model, batches):
    optimizer = torch.optim.AdamW(model.parameters())
    for pictures, labels in batches:
        loss = nn.functional.cross_entropy(model(pictures.to("cuda", non_blocking=True)), labels.to("cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def loader():
    """Workers make batches, a thread pins them: both beside the training."""
    train(network(), DataLoader(Pictures(), batch_size=8, num_workers=2, pin_memory=True, persistent_workers=True))


def language_model():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    config = Qwen2Config(vocab_size=2048, hidden_size=128, intermediate_size=256, num_hidden_layers=3,
                         num_attention_heads=4, num_key_value_heads=2)
    return Qwen2ForCausalLM(config).to("cuda", torch.bfloat16)


def transformers():
    """A model of a library, as its users train it."""
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(6):
        tokens = torch.randint(2048, (2, 64 + 32 * (step % 3)), generator=torch.Generator().manual_seed(step))
        tokens = tokens.to("cuda")
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def generation():
    """Tokens one by one, with a cache that grows."""
    model = language_model().eval()
    with torch.no_grad():
        model.generate(torch.ones(2, 16, dtype=torch.long, device="cuda"), max_new_tokens=24, min_new_tokens=24,
                       do_sample=False)


def lengths():
    """Batches whose lengths differ from step to step, and rests that the allocator keeps."""
    model = nn.Sequential(nn.Embedding(4096, 128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 4096)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(12):
        tokens = torch.zeros(3, 40 + 37 * step % 200, dtype=torch.long, device="cuda")
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def threads():
    """Each makes a model and trains it a step, whichever is next; what a step needs for itself, one has at a time."""
    step, kept = threading.Lock(), []
    end = threading.Barrier(6)  # whoever comes after a thread's end has its cuBLAS workspace

    def work():
        model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to("cuda")
        with step:
            model(torch.zeros(256, 512, device="cuda")).sum().backward()
            kept.append(model)
        end.wait()

    running = [threading.Thread(target=work) for _ in range(end.parties)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


if __name__ == "__main__":
    {f.__name__: f for f in (loader, transformers, generation, lengths, threads)}[sys.argv[1]]()
