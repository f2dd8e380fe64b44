# SPDX-License-Identifier: MIT
"""Programs with one fault that costs memory each, the same without it, and one that looks like it and has it not.

    faults.py CASE fault|fixed|near|near2, or one of the ways that a test names

Prints the highest allocated and reserved bytes as JSON.
"""
import argparse
import collections
import copy
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH, LAYERS = 32000, 512, 8, 512, 4, 6


class Attention(nn.Module):
    def __init__(self, by_hand=False):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.by_hand = by_hand

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        if self.by_hand == "in place":  # of a view: autograd gives that nodes of its own
            y = torch.einsum("bhqd,bhkd->bhqk", q, k).mul_(1 / 8).softmax(-1) @ v
        elif self.by_hand:
            y = (q @ k.transpose(-1, -2) / 8).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, WIDTH))


class GroupedAttention(nn.Module):
    """Several heads of queries share one of keys and values; or each has its own, and keys and values have adapters."""

    def __init__(self, groups, is_repeated):
        super().__init__()
        self.queries = nn.Linear(WIDTH, WIDTH)
        self.keys, self.values = (nn.Linear(WIDTH, WIDTH // groups) for _ in range(2))
        self.out = nn.Linear(WIDTH, WIDTH)
        if groups == 1:
            self.down = nn.ModuleList(nn.Linear(WIDTH, WIDTH // 4) for _ in range(2))
            self.up = nn.ModuleList(nn.Linear(WIDTH // 4, WIDTH) for _ in range(2))
        self.groups, self.is_repeated = groups, is_repeated

    def widen(self, x):
        if self.groups == 1:
            return x.contiguous()
        b, h, t, d = x.shape
        return x[:, :, None].expand(b, h, self.groups, t, d).reshape(b, h * self.groups, t, d)

    def forward(self, x):
        b, t, _ = x.shape
        made = [m(x) for m in (self.queries, self.keys, self.values)]
        if self.groups == 1:
            made[1:] = [y + up(down(x)) for y, down, up in zip(made[1:], self.down, self.up)]
        q, k, v = (y.view(b, t, -1, WIDTH // HEADS).transpose(1, 2) for y in made)
        del made
        if self.is_repeated:
            k, v = self.widen(k), self.widen(v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=not self.is_repeated)
        return self.out(y.transpose(1, 2).reshape(b, t, WIDTH))


class Layer(nn.Module):
    def __init__(self, attention=Attention, **options):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = attention(**options)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, vocabulary=VOCABULARY, layers=LAYERS, is_checkpointed=False, **options):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.layers = nn.ModuleList(Layer(**options) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.is_checkpointed = is_checkpointed

    def body(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.is_checkpointed else layer(x)
        return self.norm(x)

    def forward(self, tokens, last_only=False):
        x = self.body(tokens)
        return self.head(x[:, -1:] if last_only else x)


def batch(vocabulary=VOCABULARY, rows=BATCH, length=LENGTH):
    return torch.randint(vocabulary, (rows, length)).to("cuda")


def whole_loss(model, tokens):
    return F.cross_entropy(model(tokens).float().flatten(0, 1), tokens.flatten())


def piece_loss(head, hidden, labels):
    return F.cross_entropy(head(hidden).float(), labels, reduction="sum")


class InPieces(nn.Module):
    """The loss over pieces of the tokens, each checkpointed or not."""

    def __init__(self, model, pieces, is_checkpointed):
        super().__init__()
        self.model, self.pieces, self.is_checkpointed = model, pieces, is_checkpointed

    def forward(self, tokens):
        hidden = self.model.body(tokens).flatten(0, 1).chunk(self.pieces)
        labels = tokens.flatten().chunk(self.pieces)
        total = 0
        for h, y in zip(hidden, labels):
            if self.is_checkpointed:
                total = total + checkpoint(piece_loss, self.model.head, h, y, use_reentrant=False)
            else:
                total = total + piece_loss(self.model.head, h, y)
        return total / tokens.numel()


def train(model, loss, steps=3, optimizer=None, micro_batches=1, set_to_none=True, **data):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        for _ in range(micro_batches):
            loss(batch(**data)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=set_to_none)


def logits_kept_whole(how):
    model = Decoder(layers=2).to("cuda", torch.bfloat16)
    in_pieces = InPieces(model, 8, is_checkpointed=True)
    train(model, (lambda tokens: whole_loss(model, tokens)) if how == "fault" else in_pieces, rows=8)


def logits_chunks_kept(how):
    model = Decoder(layers=2).to("cuda", torch.bfloat16)
    in_pieces = InPieces(model, 2 if how == "near2" else 8, is_checkpointed=how in ("fixed", "near"))
    train(model, in_pieces, rows=8, micro_batches=4 if how == "near" else 1)


def logits_of_all_tokens(how):
    model = Decoder(layers=2).to("cuda", torch.bfloat16)
    if how == "near":
        return train(model, lambda tokens: whole_loss(model, tokens))
    with torch.set_grad_enabled(how == "near2"):  # recorded for a backward pass that may come
        for _ in range(3):
            model(batch(), last_only=how == "fixed")


def equal_buffers(how):
    if how == "near":
        model = nn.Sequential(*(nn.BatchNorm1d(1 << 20) for _ in range(8))).to("cuda")
        return [model(torch.zeros(2, 1 << 20).to("cuda")) for _ in range(2)]
    model = Decoder(1000).to("cuda")
    shared = torch.zeros(16384, WIDTH, device="cuda") if how == "fixed" else None
    for layer in model.layers:
        table = shared if how == "fixed" else torch.zeros(16384, WIDTH, device="cuda")
        layer.register_buffer("positions", table, persistent=False)
    del table, shared
    with torch.no_grad():
        for _ in range(3):
            model(batch(1000))


class Adam8(torch.optim.Optimizer):
    """The memory of a blockwise 8-bit Adam."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if self.state[p] or p.grad is None:
                    continue
                for name in ("state1", "state2"):
                    if p.numel() < 4096:
                        self.state[p][name] = torch.zeros_like(p)
                        continue
                    self.state[p][name] = torch.zeros_like(p, dtype=torch.uint8)
                    self.state[p][f"absmax{name}"] = torch.zeros(-(-p.numel() // 256), device=p.device)


def optimizer_states_wide(how):
    model = Decoder().to("cuda", torch.bfloat16 if how == "near" else torch.float32)
    if how == "near2":  # wide, but only of what is trained: little
        model.requires_grad_(False).norm.requires_grad_(True)
        model.layers[-1].requires_grad_(True)
    trained = [p for p in model.parameters() if p.requires_grad]
    kind = torch.optim.AdamW(trained, foreach=False) if how in ("fault", "near2") else Adam8(trained)
    train(model, lambda tokens: whole_loss(model, tokens), optimizer=kind, rows=1, length=64)


def optimizer_burst(how):
    model = Decoder().to("cuda")
    if how == "near":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), foreach=how == "fault", fused=how == "fixed" or None)
    train(model, lambda tokens: whole_loss(model, tokens), optimizer=optimizer, rows=1, length=64)


def gradients_in_forward(how):
    model = Decoder().to("cuda", torch.bfloat16)
    micro_batches = 2 if how.startswith("near") else 1
    set_to_none = how not in ("fault", "near2")  # zeros of the step before, but the second pass adds to what is there
    held = []

    def loss(tokens):
        if how == "near2":  # the highest use is in the last step, where there are gradients of steps before
            held.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        return whole_loss(model, tokens)

    train(model, loss, micro_batches=micro_batches, set_to_none=set_to_none)


def negatives_of_micro_batches():
    """What earlier micro-batches returned is what the next ones are told from."""
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 2048)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        seen = []
        for _ in range(4):
            found = model(torch.rand(1024, 256).cuda())
            others = torch.cat([found, *seen])
            F.cross_entropy(found @ others.T, torch.arange(1024, device="cuda")).backward()
            seen.append(found.detach())
            del found, others
        optimizer.step()
        optimizer.zero_grad()


def results_of_micro_batches(how):
    """Of each micro-batch its scores, in a list until the step is over."""
    if how.endswith("near"):
        return negatives_of_micro_batches()
    model = Decoder(layers=2).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        kept = []
        for _ in range(4):
            tokens = batch()
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten()) / 4
            loss.backward()
            kept.append(loss.detach() if how.endswith("fixed") else logits.detach())
            del logits, loss
        optimizer.step()
        optimizer.zero_grad()


def results_kept(how):
    if how.startswith("micro"):
        return results_of_micro_batches(how)
    model = Decoder(layers=2).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    previous, losses = None, []
    for _ in range(3):
        tokens = batch()
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
        previous = logits if how == "fault" else None
        if how != "near":
            del logits, loss
    return previous, losses


def activations_kept(how):
    if how == "nested":  # no module of its own class, and numbers only
        layers = (nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(8))
        model = nn.Sequential(*layers).to("cuda")
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            model(torch.zeros(16, LENGTH, WIDTH, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return None
    if how == "near":
        model = Decoder(1000).to("cuda")
        with torch.no_grad():
            return [model(batch(1000, rows=16)) for _ in range(2)]
    if how == "wrapped":  # the model is itself the first of several numbered modules
        model = nn.Sequential(Decoder(1000), nn.LayerNorm(1000), nn.Linear(1000, 8)).to("cuda")
        return train(model, lambda tokens: model(tokens).sum(), vocabulary=1000, rows=16)
    model = Decoder(1000, layers=12, is_checkpointed=how == "fixed")
    if how == "near2":  # all of them, but what they take is little beside what they need
        model.register_buffer("table", torch.zeros(256 << 20, dtype=torch.uint8))
    model.to("cuda")
    model.to(torch.bfloat16)
    return train(model, lambda tokens: whole_loss(model, tokens), vocabulary=1000, rows=1 if how == "near2" else 16)


def attention_scores(how):
    model = Decoder(1000, by_hand={"fault": True, "in-place": "in place"}.get(how)).to("cuda", torch.bfloat16)
    train(model, lambda tokens: whole_loss(model, tokens), vocabulary=1000, length=1024)


def averaged():
    """An average that has names of its own, and is written after the first step alone."""
    model = Decoder(1000).to("cuda")
    average = nn.ModuleDict({"slow": copy.deepcopy(model).requires_grad_(False)})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = whole_loss(model, batch(1000, rows=1, length=64))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for slow, fast in zip(average.parameters(), model.parameters()) if step == 0 else ():
            slow.data.copy_(fast.data)


def frozen_weights_wide(how):
    if how == "averaged":
        return averaged()
    frozen = Decoder(1000).to("cuda", torch.bfloat16 if how == "fixed" else torch.float32)
    head = nn.Linear(1000, 64).to("cuda", torch.float32 if how == "near2" else torch.bfloat16)
    frozen.requires_grad_(how == "near")
    optimizer = torch.optim.SGD(list(head.parameters()) + list(frozen.parameters()), lr=0.1)
    for _ in range(3):
        loss = head(frozen(batch(1000, rows=1, length=64)).to(head.weight.dtype)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def fragmentation(how):
    model = nn.Linear(256, 8192, device="cuda")
    kept, rows = [], 16384
    if how == "near2":  # the same, beside so much else that it is little
        kept.append(torch.empty(60 << 30, dtype=torch.uint8, device="cuda"))
    with torch.no_grad():
        for _ in range(12):
            wide = model(torch.empty(rows, 256, device="cuda"))
            del wide
            if how != "near":
                kept.append(torch.empty(rows * 4200, device="cuda"))
            rows += 512 if how != "near" else 0


def cache_after_load(how):
    model = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(40)))
    model = model.to(torch.bfloat16).to("cuda") if how == "near" else model.to("cuda").to(torch.bfloat16)
    if how == "fixed":
        torch.cuda.empty_cache()
    rest = torch.zeros(8 << 30, dtype=torch.uint8, device="cuda") if how == "near2" else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.zeros(16384, 2048, dtype=torch.bfloat16, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return rest


def repeated_keys(how):
    model = Decoder(1000, attention=GroupedAttention, groups=1 if how == "near" else 4, is_repeated=how != "fixed")
    model.to("cuda", torch.bfloat16)
    train(model, lambda tokens: whole_loss(model, tokens), vocabulary=1000, rows=16)


def gradients_twice(how):
    store = os.path.join(tempfile.mkdtemp(), "store")
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    model = Decoder(8000).to("cuda")
    if how != "near2":  # there, nobody else has gradients
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=how == "fixed")
    size = {"rows": 16, "length": 512} if how == "near" else {"rows": 1, "length": 64}
    # Near: the peak is where activations are, and no gradient yet.
    train(model, lambda tokens: whole_loss(model, tokens), vocabulary=8000, **size)


class Cache:
    """Keys and values of 16 bits, or of 8."""

    def __init__(self, how, rows, length):
        shape = (2, rows, HEADS, length, WIDTH // HEADS)
        kind = torch.bfloat16 if how == "fault" else torch.float8_e4m3fn
        self.kv_cache = [torch.zeros(shape, dtype=kind, device="cuda") for _ in range(LAYERS)]
        self.scales = [torch.zeros(shape[:-1], dtype=torch.bfloat16, device="cuda") for _ in range(LAYERS)] \
            if how == "near" else None

    def read(self, layer, row, length):
        return self.kv_cache[layer][:, row, :, :length].to(torch.bfloat16)


def wide_cache(how):
    rows, length = 16, 2048
    maps = [nn.Linear(WIDTH, 3 * WIDTH).to("cuda", torch.bfloat16) for _ in range(LAYERS)]
    cache = Cache(how, rows, length)
    with torch.no_grad():
        for token in range(1000, 1004):
            for layer, qkv in enumerate(maps):
                x = torch.zeros(rows, WIDTH, dtype=torch.bfloat16, device="cuda")
                q, k, v = (y.view(rows, HEADS, -1) for y in qkv(x).chunk(3, -1))
                cache.kv_cache[layer][0, :, :, token] = k.to(cache.kv_cache[layer].dtype)
                cache.kv_cache[layer][1, :, :, token] = v.to(cache.kv_cache[layer].dtype)
                for row in range(rows):
                    keys, values = cache.read(layer, row, token + 1)
                    F.scaled_dot_product_attention(q[row][:, None], keys, values)


def library_workspaces(_):
    model = nn.Linear(2048, 2048).to("cuda")
    for _ in range(4):
        with torch.cuda.stream(torch.cuda.Stream()):
            model(torch.zeros(2048, 2048, device="cuda"))


def rounded_requests(how):
    kept = []
    for mib in (33, 35, 66, 70, 130, 140) if how != "near" else (32, 32, 64, 64, 128, 128):
        kept.append(torch.empty(mib << 20, dtype=torch.uint8, device="cuda"))


def growth(how):
    model = Decoder(1000, layers=2).to("cuda", torch.bfloat16)
    history = [] if how == "fault" else collections.deque(maxlen=3 if how == "near" else 1)

    def loss(tokens):
        hidden = model.body(tokens)
        history.append(hidden.detach().float())
        return F.cross_entropy(model.head(hidden).float().flatten(0, 1), tokens.flatten())

    train(model, loss, steps=12, vocabulary=1000)


def graph_unused(how):
    model = Decoder(1000, layers=4).to("cuda", torch.bfloat16)
    for _ in range(2):
        train(model, lambda tokens: whole_loss(model, tokens), steps=2, vocabulary=1000)
        if how == "raised":  # between the two passes, and the graph goes before the program ends
            loss = whole_loss(model, batch(1000, rows=16))
            del loss
            sys.exit("the loss is not finite")
        if how == "near":  # recorded, and used: one backward pass for several forwards
            sum(whole_loss(model, batch(1000, rows=8)) for _ in range(2)).backward()
            model.zero_grad()
            continue
        for _ in range(3):
            with torch.set_grad_enabled(how == "fault"):
                whole_loss(model, batch(1000, rows=16)).item()


def predictions_gathered(how):
    model = Decoder(1000, layers=2).to("cuda", torch.bfloat16)
    for _ in range(2):
        train(model, lambda tokens: whole_loss(model, tokens), steps=2, vocabulary=1000)
        kept = []
        with torch.no_grad():
            for _ in range(40):
                hidden = model.body(batch(1000))
                kept.append(hidden.float().cpu() if how == "fixed" else hidden.float())
        if how == "near":  # what is learned from next
            F.mse_loss(model.body(batch(1000)).float().repeat(40, 1, 1), torch.cat(kept)).backward()
            model.zero_grad()
        else:
            torch.cat(kept).mean().item()
        del kept


def weights_twice(how):
    path = os.path.join(tempfile.mkdtemp(), "weights.pt")
    torch.save(Decoder(8000).state_dict(), path)
    model = Decoder(8000).to("cuda")
    if how == "near":  # an average of the weights, which each step reads
        weights = {name: value.clone() for name, value in model.state_dict().items()}
    else:
        weights = torch.load(path, map_location="cpu" if how == "fixed" else "cuda")
        model.load_state_dict(weights)
    for _ in range(3):
        train(model, lambda tokens: whole_loss(model, tokens), steps=1, vocabulary=8000, rows=1)
        if how == "near":
            for name, value in model.state_dict().items():
                weights[name].lerp_(value, 0.1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.image = Decoder(1000), nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))

    def forward(self, x, tokens=None):
        return self.image(x if tokens is None else x + self.text.body(tokens).mean(1))


def module_unused(how):
    model = TwoTowers()
    (model.image if how == "fixed" else model).to("cuda")
    optimizer = torch.optim.SGD(model.image.parameters(), lr=0.1)
    for step in range(4):  # near: it runs, seldom
        tokens = batch(1000, rows=2) if how == "near" and step == 3 else None
        with torch.set_grad_enabled(tokens is None):
            loss = model(torch.zeros(2, WIDTH, device="cuda"), tokens).sum()
        if tokens is None:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def states_unused(how):
    model = Decoder(1000).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for step in range(9):
        is_trained = step < 2 or (how == "near" and step % 3 == 0)  # near: again and again
        model.layers.requires_grad_(is_trained)
        if how == "fixed" and step == 2:
            for parameter in model.layers.parameters():
                optimizer.state.pop(parameter, None)
        train(model, lambda tokens: whole_loss(model, tokens), steps=1, optimizer=optimizer, vocabulary=1000,
              rows=1 if is_trained else 16)


CASES = (logits_kept_whole, logits_chunks_kept, logits_of_all_tokens, equal_buffers, optimizer_states_wide,
         optimizer_burst, gradients_in_forward, results_kept, activations_kept, attention_scores, frozen_weights_wide,
         fragmentation, cache_after_load, repeated_keys, gradients_twice, wide_cache, library_workspaces,
         rounded_requests, growth, graph_unused, predictions_gathered, weights_twice, module_unused, states_unused)


def main():
    cases = {case.__name__.replace("_", "-"): case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=cases)
    parser.add_argument("how", choices=("fault", "fixed", "near", "near2", "nested", "wrapped", "micro", "micro-fixed",
                                        "micro-near", "in-place", "averaged", "raised"))
    options = parser.parse_args()
    cases[options.case](options.how)
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}))


if __name__ == "__main__":
    main()
