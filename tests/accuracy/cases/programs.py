# SPDX-License-Identifier: MIT
"""Programs without modules, or with other words for their parts: functions, closures, generators, threads."""
import math
import queue
import threading

import torch
import torch.nn.functional as F
from stage import case, head, main, stage, watch
from torch import nn

V, W = 12000, 384
PARTS = {"gaze": "attention", "widen": "mlp", "level": "norm", "tell": "logits"}


@case(family="functions", mode="fp32, Adam over leaf tensors", hard=True)
def bare_tensors():
    w1 = torch.randn(1024, 4096, device="cuda", requires_grad=True)
    w2 = torch.randn(4096, 1024, device="cuda", requires_grad=True)
    optimizer = torch.optim.Adam([w1, w2])
    watch(optimizer)
    stage("loaded", weights="w1, w2")
    for step in range(3):
        x = torch.randn(2048, 1024, device="cuda")
        hidden = torch.relu(x @ w1)
        y = hidden @ w2
        loss = ((y - x) ** 2).mean()
        stage(f"forward-{step}", weights="w1, w2", inputs="x", activations="hidden, y")
        loss.backward()
        stage(f"backward-{step}", weights="w1, w2", inputs="x", activations="hidden, y")
        optimizer.step()
        optimizer.zero_grad()


def make_parameters(depth):
    def fresh(*shape):
        return (torch.randn(shape, device="cuda") / math.sqrt(shape[0])).requires_grad_()

    return {"words": fresh(V, W), "places": fresh(256, W),
            "layers": [{"mix": fresh(W, 3 * W), "out": fresh(W, W), "up": fresh(W, 4 * W), "down": fresh(4 * W, W)}
                       for _ in range(depth)]}


def level(x):
    return F.layer_norm(x, (W,))


def gaze(p, x):
    q, k, v = (t.unflatten(-1, (6, -1)).transpose(1, 2) for t in (x @ p["mix"]).chunk(3, -1))
    scores = q @ k.transpose(-1, -2) / 8
    scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=x.device).triu(1).bool(), -1e9)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ p["out"]


def widen(p, x):
    return F.gelu(x @ p["up"]) @ p["down"]


def tell(p, x):
    return head(level(x) @ p["words"].T)


def speak(p, ids):
    x = p["words"][ids] + p["places"][:ids.shape[1]]
    for layer in p["layers"]:
        x = x + gaze(layer, level(x))
        x = x + widen(layer, level(x))
    return tell(p, x)


@case(family="decoder of functions", mode="fp32, dictionary of parameters, step by hand", functions=PARTS, hard=True)
def dictionary_decoder():
    p = make_parameters(3)
    leaves = [p["words"], p["places"], *(t for layer in p["layers"] for t in layer.values())]
    speeds = [torch.zeros_like(t) for t in leaves]
    stage("loaded", weights="leaves", optimizer="speeds")
    for step in range(3):
        ids = torch.randint(0, V, (8, 256)).cuda()
        scores = speak(p, ids)
        loss = F.cross_entropy(scores.flatten(0, 1), ids.flatten())
        stage(f"forward-{step}", weights="leaves", optimizer="speeds", inputs="ids")
        gradients = torch.autograd.grad(loss, leaves)
        stage(f"backward-{step}", weights="leaves", optimizer="speeds", inputs="ids", gradients="gradients")
        with torch.no_grad():
            for t, g, s in zip(leaves, gradients, speeds):
                s.mul_(0.9).add_(g)
                t.sub_(s, alpha=0.1)
        stage(f"step-{step}", weights="leaves", optimizer="speeds", inputs="ids", gradients="gradients")
        del gradients


@case(family="functional transforms", mode="fp32, torch.func, parameters passed as a dictionary", heads=["4"],
      roles={"*": "mlp"}, hard=True)
def functional_transforms():
    net = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh(), nn.Linear(2048, 256)).cuda()
    watch(net)
    values = {k: v.detach().clone() for k, v in net.named_parameters()}
    first = {k: torch.zeros_like(v) for k, v in values.items()}

    def loss_of(values, x, y):
        return F.cross_entropy(torch.func.functional_call(net, values, (x,)), y)

    for step in range(3):
        x, y = torch.randn(4096, 512).to("cuda"), torch.randint(0, 256, (4096,)).to("cuda")
        gradients, loss = torch.func.grad_and_value(loss_of)(values, x, y)
        stage(f"backward-{step}", weights="values", inputs="x, y", gradients="gradients", optimizer="first")
        first = {k: 0.9 * first[k] + gradients[k] for k in values}
        values = {k: values[k] - 0.1 * first[k] for k in values}
        stage(f"step-{step}", weights="values", inputs="x, y", gradients="gradients", optimizer="first")


class Schicht(nn.Module):
    """A block of a transformer, in German."""

    def __init__(self, breite, koepfe):
        super().__init__()
        self.koepfe = koepfe
        self.waage_eins, self.waage_zwei = Waage(breite), Waage(breite)
        self.blick, self.werk = Blick(breite, koepfe), Werk(breite)

    def forward(self, x):
        x = x + self.blick(self.waage_eins(x))
        return x + self.werk(self.waage_zwei(x))


class Waage(nn.Module):
    def __init__(self, breite):
        super().__init__()
        self.mass = nn.Parameter(torch.ones(breite))

    def forward(self, x):
        return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.mass


class Blick(nn.Module):
    def __init__(self, breite, koepfe):
        super().__init__()
        self.koepfe = koepfe
        self.frage, self.marke = nn.Linear(breite, breite), nn.Linear(breite, breite)
        self.inhalt, self.ergebnis = nn.Linear(breite, breite), nn.Linear(breite, breite)

    def forward(self, x):
        f, m, i = (t(x).unflatten(-1, (self.koepfe, -1)).transpose(1, 2) for t in (self.frage, self.marke, self.inhalt))
        gewicht = (f @ m.mT / math.sqrt(f.shape[-1])).softmax(-1)
        return self.ergebnis((gewicht @ i).transpose(1, 2).flatten(2))


class Werk(nn.Module):
    def __init__(self, breite):
        super().__init__()
        self.tor, self.auf, self.ab = (nn.Linear(breite, 3 * breite), nn.Linear(breite, 3 * breite),
                                       nn.Linear(3 * breite, breite))

    def forward(self, x):
        return self.ab(torch.sigmoid(self.tor(x)) * self.auf(x))


class Sprache(nn.Module):
    def __init__(self):
        super().__init__()
        self.woerter = nn.Embedding(V, W)
        self.schichten = nn.ModuleList(Schicht(W, 6) for _ in range(3))
        self.ende, self.mund = Waage(W), nn.Linear(W, V, bias=False)

    def forward(self, zahlen):
        x = self.woerter(zahlen)
        for schicht in self.schichten:
            x = schicht(x)
        return self.mund(self.ende(x))


GERMAN = {":Blick": "attention", ":Werk": "mlp", ":Waage": "norm"}


@case(family="decoder in another language", mode="bf16", roles=GERMAN, heads=["mund"], hard=True)
def sprache():
    netz = Sprache().to("cuda", torch.bfloat16)
    lerner = torch.optim.AdamW(netz.parameters())
    watch(netz, lerner)
    for schritt in range(3):
        zahlen = torch.randint(0, V, (8, 256), device="cuda")
        verlust = F.cross_entropy(netz(zahlen).float().flatten(0, 1), zahlen.flatten())
        stage(f"hin-{schritt}", inputs="zahlen")
        verlust.backward()
        stage(f"zurueck-{schritt}", inputs="zahlen")
        lerner.step()
        lerner.zero_grad()
        stage(f"schritt-{schritt}", inputs="zahlen")


@case(family="decoder in another language", mode="autocast bf16, scored without gradients", roles=GERMAN,
      heads=["mund"], hard=True)
def sprache_pruefen():
    netz = Sprache().to("cuda").eval()
    watch(netz)
    guete = []
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
        for schritt in range(4):
            zahlen = torch.randint(0, V, (8, 256), device="cuda")
            werte = netz(zahlen).float().log_softmax(-1)
            guete.append(werte.gather(-1, zahlen[..., None]))
            stage(f"geprueft-{schritt}", inputs="zahlen", user="guete")


def closures(widths):
    """A network as a chain of closures, each with its own weights."""
    held = []

    def linear(a, b):
        weight, bias = torch.randn(a, b, device="cuda"), torch.zeros(b, device="cuda")
        held.extend((weight.div_(math.sqrt(a)).requires_grad_(), bias.requires_grad_()))
        return lambda x: torch.addmm(bias, x, weight)

    def chain(first, *rest):
        return (lambda x: chain(*rest)(torch.tanh(first(x)))) if rest else first

    return chain(*(linear(a, b) for a, b in zip(widths, widths[1:]))), held


@case(family="closures", mode="fp32, SGD, batches from a generator", hard=True)
def chain_of_closures():
    net, held = closures((784, 2048, 2048, 1024, 10))
    optimizer = torch.optim.SGD(held, 0.1, momentum=0.9)
    watch(optimizer)

    def batches():
        for _ in range(3):
            yield torch.rand(4096, 784).cuda(), torch.randint(10, (4096,)).cuda()

    stage("loaded", weights="held")
    for step, (x, y) in enumerate(batches()):
        scores = net(x)
        loss = F.nll_loss(F.log_softmax(scores, 1), y)
        stage(f"forward-{step}", weights="held", inputs="x, y", logits="scores")
        optimizer.zero_grad()
        loss.backward()
        stage(f"backward-{step}", weights="held", inputs="x, y", logits="scores")
        optimizer.step()


@case(family="plain MLP", mode="fp32, batches by a thread, training in another", roles={"*": "mlp"},
      hard=True)
def threads():
    net = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.RMSprop(net.parameters())
    watch(net, optimizer)
    ready, wanted = queue.Queue(1), queue.Queue(1)

    def load():
        while wanted.get():
            ready.put((torch.randn(2048, 1024).cuda(), torch.randn(2048, 1024).cuda()))

    def learn():
        for step in range(3):
            wanted.put(True)
            x, y = ready.get()
            made = net(x)
            loss = F.l1_loss(made, y)
            stage(f"forward-{step}", inputs="x, y", activations="made")
            loss.backward()
            stage(f"backward-{step}", inputs="x, y", activations="made")
            optimizer.step()
            optimizer.zero_grad()
        wanted.put(False)

    workers = [threading.Thread(target=load), threading.Thread(target=learn)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@case(family="implicit layer", mode="fp32, own function, solved by repetition", hard=True)
def fixed_point():
    class Still(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            z = torch.zeros_like(x)
            for _ in range(8):
                z = torch.tanh(z @ weight + x)
            ctx.save_for_backward(z, weight)
            return z

        @staticmethod
        def backward(ctx, up):
            z, weight = ctx.saved_tensors
            slope, g = 1 - z * z, up.clone()
            for _ in range(8):
                g = up + (g * slope) @ weight.T
            g = g * slope
            return g, z.T @ g

    weight = nn.Parameter(torch.randn(1024, 1024, device="cuda") / 64)
    outer = nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.Adam([weight, *outer.parameters()])
    watch(outer, optimizer)
    for step in range(3):
        x = torch.randn(4096, 1024, device="cuda")
        made = Still.apply(outer(x), weight)
        loss = (made - x).square().mean()
        stage(f"forward-{step}", inputs="x", weights="weight", activations="made")
        loss.backward()
        stage(f"backward-{step}", inputs="x", weights="weight", activations="made")
        optimizer.step()
        optimizer.zero_grad()


def make_stack(width, depth, is_trained):
    def matrix(*shape):
        return (torch.randn(*shape, device="cuda") * 0.02).requires_grad_(is_trained)

    return [{"level": torch.ones(width, device="cuda", requires_grad=is_trained), "up": matrix(width, 4 * width),
             "down": matrix(4 * width, width)} for _ in range(depth)]


def evened(layer, x):
    return F.layer_norm(x, x.shape[-1:], layer["level"])


def widened(layer, x):
    return F.gelu(x @ layer["up"]) @ layer["down"]


def features(stack, x):
    found = []
    for layer in stack:
        x = x + widened(layer, evened(layer, x))
        found.append(x)
    return found


def distance(teacher, student, bridge, x, small):
    with torch.no_grad():
        wanted = features(teacher, x)
    return sum(F.mse_loss(found @ bridge, w) for found, w in zip(features(student, small), wanted))


@case(family="teacher of functions", mode="fp32, frozen teacher and student in lists of dictionaries",
      functions={"evened": "norm", "widened": "mlp", "features": "residual", "distance": "activations"}, hard=True)
def taught_by_functions():
    teacher, student = make_stack(768, 6, False), make_stack(256, 6, True)
    bridge = torch.randn(256, 768, device="cuda", requires_grad=True)
    optimizer = torch.optim.AdamW([*(t for layer in student for t in layer.values()), bridge])
    held = "[t for layer in teacher + student for t in layer.values()], bridge"
    watch(optimizer)
    stage("loaded", weights=held)
    for step in range(3):
        x, small = torch.randn(16, 128, 768).cuda(), torch.randn(16, 128, 256).cuda()
        loss = distance(teacher, student, bridge, x, small)
        stage(f"forward-{step}", weights=held, inputs="x, small")
        optimizer.zero_grad()
        loss.backward()
        stage(f"backward-{step}", weights=held, inputs="x, small")
        optimizer.step()


if __name__ == "__main__":
    main()
