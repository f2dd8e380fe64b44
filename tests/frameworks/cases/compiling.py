# SPDX-License-Identifier: MIT
"""Programs under torch.compile: losses inside and outside of the graph, scaled gradients, functions, replayed graphs.

Where the loss is inside of the graph, `vocabulary` tells
what scores are, as no code of the program sees them.
"""
import torch
import torch.nn.functional as F
from program import case, main, stage, watch
from torch import nn

V, B, T, W = 8000, 8, 96, 192


class Residual(nn.Module):
    def __init__(self, channels, wider):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, wider, 3, padding=1), nn.Conv2d(wider, wider, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(wider), nn.BatchNorm2d(wider)
        self.skip = nn.Conv2d(channels, wider, 1)

    def forward(self, x):
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(self.norm2(self.second(y)) + self.skip(x))


def predict(call, images):
    return call(images)


@case(family="torch.compile", mode="convolutions, autocast, scaled gradients, SGD", hooks=False,
      functions={"predict": "other"}, steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
           "TORCHINDUCTOR_DETERMINISTIC": "1"})  # else it is tuned by allocations that no two runs have alike
def compiled_images():
    net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), Residual(24, 48), nn.MaxPool2d(2), Residual(48, 96),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("cuda")
    watch(net, optimizer)
    # Else kernels of several configurations are run as often as there is time, on copies of their arguments.
    call = torch.compile(net, options={"triton.autotune_pointwise": False})
    for _ in range(4):
        images, labels = torch.randn(16, 3, 48, 48).cuda(), torch.randint(0, 10, (16,)).cuda()
        stage("batch", inputs="images, labels")
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(predict(call, images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class Scale(nn.Module):
    """A norm by the root of the mean square."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(W))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = Scale(), Scale()
        self.q, self.k, self.v, self.o = (nn.Linear(W, W, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(W, 512), nn.Linear(W, 512), nn.Linear(512, W)

    def forward(self, x):
        y = self.before(x)
        q, k, v = (f(y).view(*y.shape[:2], 6, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Writer(nn.Module):
    """Returns its loss."""

    def __init__(self):
        super().__init__()
        self.words, self.blocks = nn.Embedding(V, W), nn.ModuleList(Block() for _ in range(3))
        self.last, self.score = Scale(), nn.Linear(W, V, bias=False)

    def forward(self, ids, targets=None):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        scores = self.score(self.last(x))
        return scores if targets is None else F.cross_entropy(scores.flatten(0, 1), targets.flatten())


def reckon(call, *inputs):
    return call(*inputs)


def train_writer(lengths=(T,) * 4, **options):
    model = Writer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    watch(model, optimizer)
    call = torch.compile(model, **options)
    for length in lengths:
        ids, targets = (torch.randint(0, V, (B, length)).cuda() for _ in range(2))
        stage("batch", inputs="ids, targets")
        reckon(call, ids, targets).backward()
        optimizer.step()
        optimizer.zero_grad()


@case(family="torch.compile", mode="gated decoder that returns its loss", hooks=False, functions={"reckon": "other"},
      vocabulary=8000, steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled_loss():
    train_writer()


@case(family="torch.compile", mode="the same with lengths that change", hooks=False, functions={"reckon": "other"},
      vocabulary=8000, steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled_lengths():
    train_writer((96, 88, 72, 104), dynamic=True)


@case(family="torch.compile", mode="the same, aot_eager", hooks=False, functions={"reckon": "other"},
      vocabulary=8000, steps=4, stages=("forward", "backward", "optimizer"))
def compiled_lengths_eagerly():
    train_writer((96, 88, 72, 104), dynamic=True, backend="aot_eager")


@case(family="torch.compile", mode="the same, reduce-overhead", hooks=False, functions={"reckon": "other"},
      vocabulary=8000, steps=4, stages=("forward", "backward", "optimizer"), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled_loss_to_graphs():
    train_writer(mode="reduce-overhead")


def mix(p, x):
    return x + torch.tanh(x @ p["in"] + p["shift"]) @ p["out"]


def loss_of(params, ids, targets):
    x = params["words"][ids]
    for p in params["layers"]:
        x = mix(p, x)
    return F.cross_entropy((x @ params["words"].T).flatten(0, 1), targets.flatten())


@case(family="torch.compile", mode="plain functions, weights in dictionaries", hooks=False,
      functions={"reckon": "other"}, vocabulary=8000, steps=4, stages=("forward", "backward", "optimizer"),
      needs=["triton"], env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
                             "TORCHINDUCTOR_DETERMINISTIC": "1"})
def compiled_functions():
    def weight(*shape):
        return (torch.randn(*shape) * 0.02).cuda().requires_grad_()

    params = {"words": weight(V, W), "layers": [{"in": weight(W, 640), "shift": weight(640), "out": weight(640, W)}
                                                for _ in range(3)]}
    trained = [params["words"], *(w for p in params["layers"] for w in p.values())]
    optimizer = torch.optim.Adam(trained, 1e-3)
    watch(optimizer)
    call = torch.compile(loss_of)
    for _ in range(4):
        ids, targets = (torch.randint(0, V, (B, T)).cuda() for _ in range(2))
        stage("batch", inputs="ids, targets", weights="trained")
        reckon(call, params, ids, targets).backward()
        optimizer.step()
        optimizer.zero_grad()


@case(family="torch.compile", mode="answers chosen without gradients, half precision", hooks=False,
      functions={"reckon": "other", "autotune_to_one_config": "workspace/other"}, vocabulary=8000,
      stages=("forward",), needs=["triton"],
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def compiled_answers():
    model = Writer().cuda().half().eval()
    watch(model)
    call = torch.compile(model, fullgraph=True)
    with torch.inference_mode():
        for _ in range(4):
            ids = torch.randint(0, V, (B, T)).cuda()
            stage("batch", inputs="ids")
            best = reckon(call, ids).argmax(-1)
            print(best.shape)


if __name__ == "__main__":
    main()
