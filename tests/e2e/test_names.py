# SPDX-License-Identifier: MIT
"""Names of the probe in a real training: weights, gradients, optimizer states, in steps it did not look at, too."""
import json

import pytest

from recording import PYTHON, WORKLOADS, record, record_python, vtrace

NAMED = ("weights", "gradients", "optimizer")
ROUNDING = 512 + (1 << 20)  # of PyTorch's allocator: to 512 bytes, and what it does not split off


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    recording = record_python(tmp_path_factory.mktemp("gpt"), "train_gpt.py")
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    """{name: bytes} as PyTorch itself tells them."""
    code = ("import json, sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[:1]; import train_gpt as w;"
            " o = w.parse(); m = w.GPT(w.Config(vocabulary=o.vocabulary, layers=o.layers, width=o.width,"
            " checkpointing=o.checkpointing));"
            " print(json.dumps({n: p.numel() * p.element_size() for n, p in m.named_parameters()}))")
    process = record(tmp_path_factory.mktemp("parameters"), PYTHON, "-c", code, WORKLOADS).process
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


# A network learns, and keeps what it returned before; a frozen one's features are what a picture is moved towards.
KEPT_OVER_STEPS = """
import torch, torch.nn.functional as F
from torch import nn
net = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).cuda()
frozen = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).cuda().requires_grad_(False)
rows, picture = torch.rand(1024, 512).cuda(), torch.rand(1, 3, 256, 256, device="cuda", requires_grad=True)
with torch.no_grad():
    before = net(rows)
wanted = frozen(torch.rand(1, 3, 256, 256).cuda()).detach()
optimizer = torch.optim.Adam([*net.parameters(), picture])
for step in range(3):
    optimizer.zero_grad()
    now = net(rows)
    loss = F.mse_loss(now, before) + now.square().mean() + F.mse_loss(frozen(picture), wanted)
    loss.backward()
    optimizer.step()
"""


# The states of an optimizer come back from the host.
RESUMED = """
import copy, torch
from torch import nn
net = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.Adam(net.parameters())
for step in range(8):
    net(torch.rand(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 4:
        states = copy.deepcopy(optimizer.state_dict())
        for state in states["state"].values():
            state.update({name: value.cpu() for name, value in state.items()})
        optimizer.load_state_dict(states)
"""


# A model that says in its name what it does without.
NO_EMBEDDINGS = """
import torch
from torch import nn
class Within(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
    def forward(self, x):
        return torch.relu(self.part(x))
class NetNoEmbeddings(Within):
    pass
net = nn.Linear(256, 256)
for kind in (Within, Within, Within, NetNoEmbeddings):
    net = kind(net)
net.cuda()
for step in range(2):
    net(torch.rand(4096, 256, device="cuda")).square().mean().backward()
"""


# A function of the program's own returns the loss and the scores, of which nobody makes a loss.
UNUSED_SCORES = """
import torch, torch.nn.functional as F
from torch import nn
class Head(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, wanted):
        context.save_for_backward(x, weight)
        scores = x @ weight.T
        return F.cross_entropy(scores, wanted), scores
    @staticmethod
    def backward(context, of_loss, of_scores):
        x, weight = context.saved_tensors
        return of_scores @ weight, of_scores.T @ x, None
body, head = nn.Linear(256, 256).cuda(), nn.Parameter(torch.zeros(5000, 256, device="cuda"))
for step in range(3):
    x, wanted = torch.rand(512, 256).cuda(), torch.zeros(512, dtype=torch.long).cuda()
    Head.apply(torch.relu(body(x)), head, wanted)[0].backward()
"""

# A convolution makes tokens, another makes keys fewer; the others are layers, whatever holds them.
NAMED_PARTS = """
import torch
from torch import nn
class PatchEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Conv2d(3, 64, 7, stride=4, padding=3)
    def forward(self, x):
        return self.projection(x)
class Reduction(nn.Module):
    def __init__(self):
        super().__init__()
        self.reduction = nn.Conv2d(64, 64, 3, padding=1)
    def forward(self, x):
        return self.reduction(x)
class EfficientAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.fewer = Reduction()
    def forward(self, x):
        return self.fewer(x)
class PictureEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(64, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
    def forward(self, x):
        return self.second(self.first(x))
net = nn.Sequential(PatchEmbeddings(), EfficientAttention(), nn.Conv2d(64, 64, 3, padding=1), PictureEmbedding()).cuda()
for step in range(2):
    net(torch.rand(8, 3, 128, 128, device="cuda")).square().mean().backward()
"""


# Trained by its forward, asked by another method.
OTHER_METHOD = """
import torch, torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.place = nn.Linear(256, 512), nn.Parameter(torch.zeros(512))
        self.wide, self.narrow = nn.Parameter(torch.zeros(4096, 512)), nn.Parameter(torch.zeros(8, 4096))
    def features(self, x):
        x = self.stem(x) + self.place
        x = F.gelu(F.linear(x, self.wide))
        return F.linear(x, self.narrow)
    def forward(self, x):
        return self.features(x)
net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    optimizer.zero_grad()
    net(torch.rand(2048, 256).cuda()).square().mean().backward()
    optimizer.step()
with torch.inference_mode():
    for batch in range(2):
        net.features(torch.rand(8192, 256).cuda())
"""


# Functions that learn, and then show what they learned; the batch is picked from data on the device.
FUNCTIONS = """
import torch
def layer(i, o):
    weight, bias = torch.randn(i, o, device="cuda").div_(16), torch.zeros(o, device="cuda")
    return [weight.requires_grad_(), bias.requires_grad_()]
def net(P, x):
    h = torch.relu(x @ P[0] + P[1])
    h = torch.relu(torch.addmm(P[3], h, P[2]))
    return torch.sigmoid(torch.addmm(P[5], h, P[4]))
P = [*layer(64, 256), *layer(256, 256), *layer(256, 3)]
optimizer = torch.optim.Adam(P)
places, colours = torch.rand(100000, 64, device="cuda"), torch.rand(100000, 3, device="cuda")
for step in range(3):
    picked = torch.randint(0, 100000, (4096,), device="cuda")
    x = places[picked]
    y = colours[picked]
    loss = ((net(P, x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    shown = torch.cat([net(P, places[k:k + 40960]) for k in range(0, 81920, 40960)])
"""


# A critic is asked between real and made pictures, and for its gradient there.
PENALTY = """
import torch
from torch import nn
made = nn.Linear(64, 3072).cuda()
critic = nn.Sequential(nn.Linear(3072, 512), nn.LeakyReLU(), nn.Linear(512, 1)).cuda()
optimizer = torch.optim.Adam(critic.parameters())
for step in range(3):
    real = torch.rand(256, 3072).cuda()
    with torch.no_grad():
        fake = made(torch.randn(256, 64, device="cuda"))
    part = torch.rand(256, 1, device="cuda")
    mixed = (part * real + (1 - part) * fake).requires_grad_(True)
    score = critic(mixed)
    slope, = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    loss = critic(fake).mean() - critic(real).mean() + ((slope.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


# A look visits all of them.
MANY_MODULES = """
from torch import nn
others = [nn.Sequential(nn.Linear(1, 1)) for _ in range(1000)]
"""


# Of each step's scores and of the repeated state 64 x 3072 numbers.
STEPS_OF_SCORES = """
import torch, torch.nn as nn
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3072, 512)
        self.ask, self.score = nn.Linear(1024, 512), nn.Linear(512, 1, bias=False)
        self.step, self.head = nn.GRUCell(1024, 512), nn.Linear(512, 3072)
    def forward(self, seen, token, steps):
        state, told = seen.mean(1), []
        for _ in range(steps):
            wide = state.unsqueeze(1).repeat(1, seen.shape[1], 1)
            part = torch.softmax(self.score(torch.tanh(self.ask(torch.cat([wide, seen], 2)))).squeeze(2), 1)
            context = torch.bmm(part.unsqueeze(1), seen).squeeze(1)
            state = self.step(torch.cat([self.table(token), context], 1), state)
            scores = self.head(state)
            token = scores.argmax(1)
            told.append(token)
        return torch.stack(told)
net = Decoder().cuda().eval()
with torch.no_grad():
    for k in range(2):
        net(torch.rand(64, 6, 512).cuda(), torch.zeros(64, dtype=torch.long).cuda(), 4)
"""


def named(recorded, when):
    blocks = recorded.blocks(when)["blocks"]
    return [b for b in blocks if b["owner"].split("/")[0] in NAMED and not b["owner"].startswith("weights/cast")]


def test_every_weight_gradient_and_state_has_its_name(recorded, parameters):
    blocks = named(recorded, "peak")
    assert blocks
    for block in blocks:
        kind, _, name = block["owner"].partition("/")
        if kind == "optimizer":
            name, _, key = name.rpartition(".")
            assert key in ("exp_avg", "exp_avg_sq", "step"), block["owner"]
        assert name in parameters, block["owner"]
        assert block["provenance"] == "names"
        assert block["module"] == name.rpartition(".")[0]
        if block["owner"].rpartition(".")[2] != "step":
            assert 0 <= block["size_bytes"] - parameters[name] <= ROUNDING, block["owner"]


def test_gradients_of_a_step_without_a_look_are_named_too(recorded, parameters):
    gradients = [b for b in named(recorded, "peak") if b["owner"].startswith("gradients/")]
    assert {b["owner"].partition("/")[2] for b in gradients} == set(parameters)
    explained = [json.loads(vtrace("explain", recorded.database, b["id"], "--json").stdout) for b in gradients]
    assert any(e["facts"].get("gradient_of") == "parameter" and not e["names"] for e in explained)


def test_each_layer_counts_to_its_row(recorded):
    groups = vtrace("blocks", recorded.database, "--by", "module").stdout
    assert "blocks.*.mlp" in groups
    assert "blocks.0" not in groups


AVERAGED = """
import copy, torch
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.quick = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
        self.slow = copy.deepcopy(self.quick).requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            for new, old in zip(self.quick.parameters(), self.slow.parameters()):
                old.data = old.data * 0.9 + new.data * (1 - 0.9)
            target = self.slow(x)
        return (self.quick(x) - target).square().mean()

net = Pair().to("cuda")
optimizer = torch.optim.SGD(net.quick.parameters(), 0.1)
for _ in range(12):
    net(torch.randn(64, 512, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_weights_that_every_step_replaces_have_their_names_in_all(tmp_path):
    """No probe looks after the first steps."""
    recording = record(tmp_path, PYTHON, "-c", AVERAGED)
    assert recording.process.returncode == 0, recording.process.stderr
    expected = {f"weights/{part}.{layer}.{kind}"
                for part in ("quick", "slow") for layer in (0, 2) for kind in ("weight", "bias")}
    for step in range(2, 13):
        blocks = recording.blocks(f"step:{step}")["blocks"]
        assert {b["owner"] for b in blocks if b["owner"].startswith("weights")} == expected, step


def test_results_that_are_kept_over_steps_are_the_programs(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", KEPT_OVER_STEPS)
    assert recording.process.returncode == 0, recording.process.stderr
    owners = [b["owner"] for b in recording.blocks("stage:backward")["blocks"]]
    assert owners.count("user/before") == 1 and owners.count("user/wanted") == 1, owners
    assert any(o.startswith("activations/") for o in owners)


def test_states_that_are_loaded_are_the_optimizers(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", RESUMED, env={"VTRACE_PROBE": "0"})
    assert recording.process.returncode == 0, recording.process.stderr
    loaded = [b for b in recording.blocks("step:8")["blocks"] if "<string>:14 <module>" in b["python"]]
    assert sum(b["size_bytes"] for b in loaded) > 8 << 20 and {b["owner"] for b in loaded} == {"optimizer"}, loaded


def test_a_model_is_no_embedding(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", NO_EMBEDDINGS)
    assert recording.process.returncode == 0, recording.process.stderr
    owners = {b["owner"] for b in recording.blocks("stage:backward")["blocks"] if b["size_bytes"] == 4096 * 256 * 4}
    assert "activations/mlp" in owners and "activations/embedding" not in owners, owners


def test_the_gradient_of_scores_that_nobody_used_is_theirs(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", UNUSED_SCORES)
    assert recording.process.returncode == 0, recording.process.stderr
    owners = [b["owner"] for b in recording.blocks("stage:backward")["blocks"] if b["size_bytes"] == 512 * 5000 * 4]
    assert owners == ["logits"], owners


def test_convolutions_are_of_what_they_are_a_part_of(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", NAMED_PARTS)
    assert recording.process.returncode == 0, recording.process.stderr
    blocks = recording.blocks("stage:backward")["blocks"]
    owners = {b["owner"] for b in blocks if b["size_bytes"] == 8 * 64 * 32**2 * 4}
    assert {"activations/embedding", "activations/attention", "activations/conv"} <= owners, owners
    two = {b["owner"] for b in blocks if b["size_bytes"] == 8 * 32 * 32**2 * 4}
    assert "activations/conv" in two and "activations/embedding" not in two, two


def test_what_other_methods_make_of_layers_is_an_activation(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", OTHER_METHOD)
    assert recording.process.returncode == 0, recording.process.stderr
    trained, asked = ([b["owner"] for b in recording.blocks(when)["blocks"] if "Net.features" in str(b["python"][:1])]
                      for when in ("stage:forward", "stage:evaluation"))
    assert asked and set(asked) <= set(trained), (asked, trained)
    assert any(owner.startswith("activations/") for owner in asked)


def test_functions_make_the_same_in_evaluation_as_in_training(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", FUNCTIONS)
    assert recording.process.returncode == 0, recording.process.stderr
    asked = [b["owner"] for b in recording.blocks("stage:evaluation")["blocks"] if b["size_bytes"] == 40960 * 256 * 4]
    assert asked and set(asked) == {"activations/mlp"}, asked
    trained = [b["owner"] for b in recording.blocks("stage:backward")["blocks"]]
    assert trained.count("inputs/x") == 1, trained


def test_what_a_gradient_penalty_is_of_is_no_weight(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", PENALTY)
    assert recording.process.returncode == 0, recording.process.stderr
    owners = [b["owner"] for b in recording.blocks("stage:backward")["blocks"]]
    assert owners.count("inputs/mixed") == 1 and "weights/mixed" not in owners, "\n".join(owners)


def test_names_do_not_depend_on_how_long_a_look_takes(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", MANY_MODULES + PENALTY)
    assert recording.process.returncode == 0, recording.process.stderr
    owners = [b["owner"] for b in recording.blocks("stage:backward")["blocks"]]
    assert owners.count("inputs/mixed") == 1, "\n".join(owners)


def test_what_has_the_size_of_scores_is_none_of_them(tmp_path):
    recording = record(tmp_path, PYTHON, "-c", STEPS_OF_SCORES)
    assert recording.process.returncode == 0, recording.process.stderr
    blocks = recording.blocks("stage:forward")["blocks"]
    scores = [b for b in blocks if b["owner"] == "logits" and b["size_bytes"] >= 64 * 3072 * 4]
    assert [b["python"][0] for b in scores] == ["<string>:16 Decoder.forward"], scores
