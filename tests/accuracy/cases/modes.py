# SPDX-License-Identifier: MIT
"""Ways to run: compiled, captured, on two devices, sharded, with recurrent cells, policies, averages, offloading."""
import os

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from stage import case, head, main, stage, watch
from torch import nn

V, W = 12000, 384


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def attend(self, x):
        q, k, v = (t.unflatten(-1, (6, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.embed, self.parts = nn.Embedding(V, W), nn.ModuleList(Part(W) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(W), nn.Linear(W, V, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for part in self.parts:
            x = part(x)
        return self.head(self.norm(x))


def judge(scores, ids):
    return F.cross_entropy(scores.flatten(0, 1), ids.flatten())


def step_of(model, optimizer, step, call=None):
    ids = torch.randint(0, V, (8, 256), device="cuda")
    scores = head(model(ids) if call is None else call(ids))
    loss = judge(scores, ids)
    stage(f"forward-{step}", inputs="ids", logits="scores")
    loss.backward()
    stage(f"backward-{step}", inputs="ids", logits="scores")
    optimizer.step()
    optimizer.zero_grad()
    stage(f"step-{step}", inputs="ids", logits="scores")


@case(family="decoder by hand", mode="foreach AdamW, clipped, weights averaged in a dictionary", roles={"*ffn": "mlp"},
      functions={"Part.attend": "attention"}, heads=["head"])
def averaged():
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    watch(model, optimizer)
    shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
    for step in range(3):
        ids = torch.randint(0, V, (8, 256)).cuda()
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        stage(f"forward-{step}", inputs="ids", user="shadow")
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stage(f"backward-{step}", inputs="ids", user="shadow")
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for k, v in model.state_dict().items():
                shadow[k].lerp_(v, 0.01)
        stage(f"step-{step}", inputs="ids", user="shadow")


@case(family="decoder by hand", mode="activations kept on the host", roles={"*ffn": "mlp"},
      functions={"Part.attend": "attention"}, heads=["head"])
def offloaded():
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)

    def call(ids):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return model(ids)

    for step in range(3):
        step_of(model, optimizer, step, call)


@case(family="decoder by hand", mode="compiled, eager backend", hooks=False,
      functions={"compute": "activations", "judge": "logits"})
def compiled():
    model = Decoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    call = torch.compile(model, backend="aot_eager")

    def compute(ids):
        return call(ids)

    for step in range(3):
        step_of(model, optimizer, step, compute)


@case(family="plain MLP", mode="inference in a CUDA graph", roles={"*": "mlp"})
def captured():
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(),
                          nn.Linear(4096, 1000)).cuda().half().eval()
    watch(model)
    x = torch.randn(2048, 1024, device="cuda", dtype=torch.float16)
    side = torch.cuda.Stream()
    with torch.inference_mode():
        with torch.cuda.stream(side):
            for _ in range(2):
                y = model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            z = model(x)
        stage("captured", inputs="x", graph_pools="z")
        for step in range(3):
            x.copy_(torch.randn(2048, 1024))
            graph.replay()
        stage("replayed", inputs="x", graph_pools="z")


@case(family="plain MLP", mode="two devices", device="h100-80g,count=2", heads=["right.2"],
      roles={"*": "mlp"})
def two_devices():
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.left = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to("cuda:0")
            self.right = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1000)).to("cuda:1")

        def forward(self, x):
            return self.right(self.left(x).to("cuda:1"))

    model = Halves()
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        x, y = torch.randn(2048, 1024, device="cuda:0"), torch.randint(0, 1000, (2048,), device="cuda:1")
        loss = F.cross_entropy(model(x), y)
        stage(f"forward-{step}", inputs="x, y")
        loss.backward()
        stage(f"backward-{step}", inputs="x, y")
        optimizer.step()
        optimizer.zero_grad()


def alone(backend):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", GLOO_SOCKET_IFNAME="lo")
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1)


@case(family="decoder by hand", mode="data parallel on one rank", env={"VTRACE_SIM_COPY_LIMIT": "16MiB"},
      roles={"*ffn": "mlp"}, heads=["head"],
      functions={"Part.attend": "attention", "DistributedDataParallel._ddp_init_helper": "gradients",
                 "DistributedDataParallel._pre_forward": "gradients"})
def data_parallel():
    alone("gloo")
    model = Decoder().cuda()
    call = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        step_of(model, optimizer, step, call)
    torch.distributed.destroy_process_group()


@case(family="decoder by hand", mode="sharded on one rank, bf16", roles={"*ffn": "mlp"}, heads=["head"],
      functions={"Part.attend": "attention", "FSDPParamGroup.unshard": "weights", "foreach_reduce": "gradients",
                 "FSDPParamGroup.wait_for_unshard": "weights"})
def sharded():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    alone("gloo")
    model = Decoder().cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for part in model.parts:
        fully_shard(part, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        step_of(model, optimizer, step)
    torch.distributed.destroy_process_group()


class Steps(nn.Module):
    """Words read one by one by a cell."""

    def __init__(self):
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(V, 256), nn.LSTMCell(256, 512), nn.Linear(512, V)

    def forward(self, ids):
        read = self.words(ids)
        h = read.new_zeros(len(ids), 512)
        c, all_h = torch.zeros_like(h), []
        for t in range(ids.shape[1]):
            h, c = self.cell(read[:, t], (h, c))
            all_h.append(h)
        return self.out(torch.stack(all_h, 1))


@case(family="recurrent cells", mode="fp32", heads=["out"])
def recurrent():
    model = Steps().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    watch(model, optimizer)
    for step in range(3):
        ids = torch.randint(0, V, (16, 64), device="cuda")
        loss = F.cross_entropy(model(ids).transpose(1, 2), ids)
        stage(f"forward-{step}", inputs="ids")
        loss.backward()
        stage(f"backward-{step}", inputs="ids")
        optimizer.step()
        optimizer.zero_grad()


def chances(scores):
    return torch.distributions.Categorical(logits=scores, validate_args=False)


@case(family="reinforcement", mode="rollouts kept on the device", heads=["2"], roles={"*": "mlp"})
def policy():
    net = nn.Sequential(nn.Linear(1024, 2048), nn.Tanh(), nn.Linear(2048, 64)).to("cuda")
    optimizer = torch.optim.Adam(net.parameters())
    watch(net, optimizer)
    for epoch in range(3):
        seen, done, gains = [], [], []
        for _ in range(12):
            view = torch.randn(256, 1024, device="cuda")
            with torch.no_grad():
                act = chances(net(view)).sample()
            seen.append(view)
            done.append(act)
            gains.append(torch.randn(256, device="cuda"))
        stage(f"played-{epoch}", inputs="seen, done, gains")
        x, a, g = torch.cat(seen), torch.cat(done), torch.cat(gains)
        for turn in range(2):
            loss = -(chances(net(x)).log_prob(a) * g).mean()
            stage(f"forward-{epoch}.{turn}", inputs="x, a, g, seen, done, gains")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        stage(f"learned-{epoch}", inputs="x, a, g, seen, done, gains")


@case(family="plain MLP", mode="all data on the device, rows picked", heads=["4"], roles={"*": "mlp"})
def data_on_device():
    data, labels = torch.randn(40000, 512).to("cuda"), torch.randint(0, 10, (40000,)).to("cuda")
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True, foreach=False)
    watch(net, optimizer)
    stage("loaded", inputs="data, labels")
    for step in range(3):
        i = torch.randperm(len(data), device="cuda")[:8192]
        x, y = data[i], labels[i]
        loss = F.cross_entropy(net(x), y)
        stage(f"forward-{step}", inputs="data, labels, i, x, y")
        loss.backward()
        stage(f"backward-{step}", inputs="data, labels, i, x, y")
        optimizer.step()
        optimizer.zero_grad()


@case(family="plain MLP", mode="gradient of a gradient", roles={"*": "mlp"}, hard=True)
def gradient_penalty():
    net = nn.Sequential(nn.Linear(1024, 2048), nn.Softplus(), nn.Linear(2048, 2048), nn.Softplus(),
                        nn.Linear(2048, 1)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    watch(net, optimizer)
    for step in range(3):
        x = torch.randn(2048, 1024, device="cuda", requires_grad=True)
        score = net(x).sum()
        slope, = torch.autograd.grad(score, x, create_graph=True)
        loss = score + (slope.norm(2, dim=1) - 1).square().mean()
        stage(f"forward-{step}", inputs="x", activations="slope")
        loss.backward()
        stage(f"backward-{step}", inputs="x", activations="slope")
        optimizer.step()
        optimizer.zero_grad()


@case(family="features of a frozen encoder", mode="outputs kept in a list", roles={"*ffn": "mlp"},
      functions={"Part.attend": "attention"}, heads=["head"])
def kept_outputs():
    model = Decoder().cuda().eval()
    watch(model)
    kept, losses = [], []
    for step in range(6):
        ids = torch.randint(0, V, (8, 256)).to("cuda")
        with torch.no_grad():
            x = model.embed(ids)
            for part in model.parts:
                x = part(x)
            kept.append(x)
            losses.append(F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()))
        if step % 2:
            stage(f"kept-{step}", inputs="ids", user="kept, losses")


SIDES = (256, 1024), (1024, 256)


def part(x, a, b):
    return x + torch.tanh(x @ a) @ b


@case(family="functions", mode="fp32, checkpointing with reentrance", hard=True,
      functions={"part": "other"})
def functions_again():
    pairs = [tuple((torch.randn(*sides, device="cuda") * 0.05).requires_grad_() for sides in SIDES)
             for _ in range(4)]
    optimizer = torch.optim.Adam([p for pair in pairs for p in pair], lr=1e-3)
    watch(optimizer)
    stage("loaded", weights="pairs")
    for n in range(3):
        x = torch.randn(4096, 256).cuda()
        y = x
        for a, b in pairs:
            y = torch.utils.checkpoint.checkpoint(part, y, a, b, use_reentrant=True)
        loss = y.pow(2).mean()
        stage(f"forward-{n}", weights="pairs", inputs="x")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
