# SPDX-License-Identifier: MIT
"""Losses over large vocabularies that are not made in one piece, and optimizers that are not PyTorch's."""
import torch
import torch.nn.functional as F
from stage import case, head, main, stage, watch
from torch import nn
from torch.utils.checkpoint import checkpoint

V, H, B, T = 32000, 384, 8, 256


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.look = nn.MultiheadAttention(width, 6, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.a(x)
        x = x + self.look(y, y, y, need_weights=False)[0]
        return x + self.feed(self.b(x))


class Trunk(nn.Module):
    """Everything below the vocabulary."""

    def __init__(self, width=H, depth=3):
        super().__init__()
        self.words, self.cells = nn.Embedding(V, width), nn.ModuleList(Cell(width) for _ in range(depth))
        self.last = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.words(ids)
        for cell in self.cells:
            x = cell(x)
        return self.last(x)


ROLES = {"*feed": "mlp"}


def fit(trunk, loss_of, optimizer, modules=(), steps=3):
    watch(trunk, *modules, optimizer)
    stage("loaded")
    for step in range(steps):
        ids = torch.randint(0, V, (B, T)).to("cuda")
        loss = loss_of(trunk(ids), ids)
        stage(f"forward-{step}", inputs="ids")
        loss.backward()
        stage(f"backward-{step}", inputs="ids")
        optimizer.step()
        stage(f"step-{step}", inputs="ids")
        optimizer.zero_grad()


@case(family="decoder by hand", mode="chunked loss, naive", roles=ROLES, heads=["speak"])
def chunked_naive():
    trunk, speak = Trunk().cuda(), nn.Module()
    speak.speak = nn.Linear(H, V, bias=False).cuda()

    def loss_of(x, ids):
        rows, wanted = x.flatten(0, 1), ids.flatten()
        return sum(F.cross_entropy(speak.speak(r).float(), w) for r, w in zip(rows.chunk(4), wanted.chunk(4))) / 4

    fit(trunk, loss_of, torch.optim.AdamW([*trunk.parameters(), *speak.parameters()]), [speak])


@case(family="decoder by hand", mode="bf16, chunked loss, checkpointed", roles=ROLES, functions={"piece": "logits"})
def chunked_checkpointed():
    trunk = Trunk().cuda().bfloat16()

    def piece(rows, wanted):
        return F.cross_entropy(head(rows @ trunk.words.weight.T).float(), wanted, reduction="sum")

    def loss_of(x, ids):
        rows, wanted = x.flatten(0, 1), ids.flatten()
        return sum(checkpoint(piece, r, w, use_reentrant=False)
                   for r, w in zip(rows.chunk(4), wanted.chunk(4))) / wanted.numel()

    fit(trunk, loss_of, torch.optim.AdamW(trunk.parameters(), foreach=True))


class OneSweep(torch.autograd.Function):
    """Loss and both gradients in one pass over pieces of the rows, so that logits never exist whole."""

    @staticmethod
    def forward(ctx, x, weight, wanted):
        to_x, to_weight, total = torch.empty_like(x), torch.zeros_like(weight), x.new_zeros(())
        for start in range(0, len(x), 512):
            rows, goal = x[start:start + 512], wanted[start:start + 512]
            scores = head(rows @ weight.T)
            total += F.cross_entropy(scores, goal, reduction="sum")
            scores = torch.softmax(scores, -1)
            scores[torch.arange(len(goal), device=goal.device), goal] -= 1
            to_x[start:start + 512] = scores @ weight
            to_weight += scores.T @ rows
        stage("sweep", gradients="to_weight", activation_gradients="to_x")
        ctx.save_for_backward(to_x / len(x), to_weight.div_(len(x)))
        return total / len(x)

    @staticmethod
    def backward(ctx, up):
        to_x, to_weight = ctx.saved_tensors
        return to_x * up, to_weight * up, None


@case(family="decoder by hand", mode="fused loss with gradients made in forward", roles=ROLES,
      functions={"OneSweep.forward": "logits"})
def fused_loss():
    trunk = Trunk().cuda()
    weight = nn.Linear(H, V, bias=False).cuda()

    def loss_of(x, ids):
        return OneSweep.apply(x.flatten(0, 1), weight.weight, ids.flatten())

    fit(trunk, loss_of, torch.optim.Adam([*trunk.parameters(), *weight.parameters()], fused=True), [weight])


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.tell = Trunk(), nn.Linear(H, V, bias=False)

    def forward(self, ids):
        return self.tell(self.trunk(ids))


def fit_whole(model, optimizer, micro_batches=1, steps=3):
    watch(model, optimizer)
    stage("loaded")
    for step in range(steps):
        for micro in range(micro_batches):
            ids = torch.randint(0, V, (4, T), device="cuda")
            scores = model(ids)
            loss = F.cross_entropy(scores[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1)) / micro_batches
            stage(f"forward-{step}.{micro}", inputs="ids")
            loss.backward()
            stage(f"backward-{step}.{micro}", inputs="ids")
        optimizer.step()
        optimizer.zero_grad()
        stage(f"step-{step}", inputs="ids")


class EightBits(torch.optim.Optimizer):
    """Moments in eight bits with a scale per block of 256, read and written back in each step."""

    def __init__(self, parameters, lr=1e-3):
        super().__init__(parameters, {"lr": lr})

    @staticmethod
    def pack(t):
        rows = F.pad(t.flatten(), (0, -t.numel() % 256)).view(-1, 256)
        scale = rows.abs().amax(1, keepdim=True).clamp_min(1e-12)
        return (rows / scale * 127).to(torch.int8), scale

    @staticmethod
    def unpack(packed, scale, like):
        return (packed.float() / 127 * scale).flatten()[:like.numel()].view_as(like)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["one"], state["two"] = self.pack(torch.zeros_like(p)), self.pack(torch.zeros_like(p))
                one = self.unpack(*state["one"], p).lerp_(p.grad, 0.1)
                two = self.unpack(*state["two"], p).lerp_(p.grad.square(), 0.01)
                p.addcdiv_(one, two.sqrt().add_(1e-8), value=-group["lr"])
                state["one"], state["two"] = self.pack(one), self.pack(two)


@case(family="decoder by hand", mode="optimizer in eight bits, three micro-batches", roles=ROLES, heads=["tell"])
def eight_bits():
    model = Small().cuda()
    fit_whole(model, EightBits(model.parameters()), micro_batches=3)


class Orthogonal(torch.optim.Optimizer):
    """In the manner of Muon: momentum, and matrices made orthogonal by a few products; the rest by its sign."""

    def __init__(self, parameters, lr=0.02):
        super().__init__(parameters, {"lr": lr, "turns": 5})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                momentum.mul_(0.95).add_(p.grad)
                p.add_(self.turn(momentum, group["turns"]) if p.dim() == 2 else momentum.sign(), alpha=-group["lr"])

    @staticmethod
    def turn(m, turns):
        x = m.bfloat16() if m.shape[0] <= m.shape[1] else m.bfloat16().T
        x = x / (x.norm() + 1e-7)
        for _ in range(turns):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        return (x if m.shape[0] <= m.shape[1] else x.T).to(m.dtype)


@case(family="decoder by hand", mode="bf16, Muon-like", roles=ROLES, heads=["tell"])
def muon_like():
    model = Small().cuda().bfloat16()
    fit_whole(model, Orthogonal(model.parameters()))


class Masters:
    """Weights in bf16, masters in fp32 that the optimizer alone has; not a torch.optim.Optimizer."""

    def __init__(self, parameters):
        self.live = list(parameters)
        self.param_groups = [{"params": [p.detach().float().clone() for p in self.live], "lr": 1e-3}]
        self.state = {}

    def step(self):
        for p, master in zip(self.live, self.param_groups[0]["params"]):
            state = self.state.setdefault(master, {"speed": torch.zeros_like(master)})
            state["speed"].mul_(0.9).add_(p.grad)
            master.sub_(state["speed"], alpha=1e-3)
            p.data.copy_(master)

    def zero_grad(self):
        for p in self.live:
            p.grad = None


@case(family="decoder by hand", mode="bf16 with fp32 masters, optimizer of no library", roles=ROLES, heads=["tell"],
      functions={"Masters.step": "workspace/optimizer"}, hard=True)
def masters():
    model = Small().cuda().bfloat16()
    with torch.no_grad():
        optimizer = Masters(model.parameters())
    fit_whole(model, optimizer)


@case(family="plain MLP", mode="L-BFGS", roles={"*": "mlp"})
def lbfgs():
    model = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 512)).to("cuda")
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=5)
    x, y = torch.randn(4096, 512).to("cuda"), torch.randn(4096, 512).to("cuda")
    watch(model, optimizer)
    stage("loaded", inputs="x, y")

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for step in range(2):
        optimizer.step(closure)
        stage(f"step-{step}", inputs="x, y")


if __name__ == "__main__":
    main()
