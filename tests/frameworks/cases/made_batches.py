# SPDX-License-Identifier: MIT
"""Batches that a program makes on the device: two views of pictures, rows of a replay, mixed pictures."""
import copy

import torch
import torch.nn.functional as F
from program import case, main, stage, watch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

OBS, ACT = 96, 16


class Head(nn.Sequential):
    def __init__(self, i, h, o):
        super().__init__(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(inplace=True), nn.Linear(h, o))


@case(family="Lightning", mode="BYOL, manual optimization, two passes per step, target averaged by hand, bf16-mixed",
      roles={":ResNet": "conv", ":BasicBlock": "conv", ":Head": "mlp"},
      steps=3, micro_batches=2, stages=("forward", "backward", "optimizer", "evaluation"), needs=["lightning"])
def two_views():
    import lightning as L
    from torchvision.models import resnet18

    class BYOL(L.LightningModule):
        def __init__(self, lr=0.03, accumulate=2):
            super().__init__()
            self.automatic_optimization = False
            self.lr, self.accumulate = lr, accumulate
            trunk = resnet18(weights=None)
            trunk.fc = nn.Identity()
            self.online = nn.Sequential(trunk, Head(512, 1024, 128))
            self.predictor = Head(128, 1024, 128)
            self.target = copy.deepcopy(self.online).requires_grad_(False)
            self.features = []

        @torch.no_grad()
        def update_target(self, m=0.99):
            for p, q in zip(self.online.parameters(), self.target.parameters()):
                q.data.mul_(m).add_(p.data, alpha=1 - m)

        def loss(self, p, z):
            return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()

        def training_step(self, batch, i):
            opt = self.optimizers()
            x, = batch
            a = x.flip(-1) + 0.05 * torch.randn_like(x)
            b = x * 0.9
            pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
            with torch.no_grad():
                za, zb = self.target(a), self.target(b)
            loss = (self.loss(pa, zb) + self.loss(pb, za)) / self.accumulate
            self.manual_backward(loss)
            if (i + 1) % self.accumulate == 0:
                self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
                opt.step()
                opt.zero_grad()
                self.update_target()

        def validation_step(self, batch, i):
            self.features.append(F.normalize(self.online[0](batch[0]), dim=1))

        def on_validation_epoch_end(self):
            f = torch.cat(self.features)
            self.features.clear()
            self.log("near", (f @ f.T).topk(3).values.mean())

        def configure_optimizers(self):
            return torch.optim.SGD([*self.online.parameters(), *self.predictor.parameters()], self.lr, momentum=0.9)

    train, val = TensorDataset(torch.randn(96, 3, 96, 96)), TensorDataset(torch.randn(32, 3, 96, 96))
    trainer = L.Trainer(max_epochs=1, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(BYOL(), DataLoader(train, 16), DataLoader(val, 16))


class Replay:
    def __init__(self, size, device):
        self.obs = torch.zeros(size, OBS, device=device)
        self.next_obs = torch.zeros(size, OBS, device=device)
        self.act = torch.zeros(size, ACT, device=device)
        self.rew, self.done = torch.zeros(size, 1, device=device), torch.zeros(size, 1, device=device)
        self.at, self.full, self.size = 0, 0, size

    def add(self, o, a, r, n, d):
        span = slice(self.at, self.at + len(o))
        self.obs[span], self.act[span], self.rew[span], self.next_obs[span], self.done[span] = o, a, r, n, d
        self.at = (self.at + len(o)) % self.size
        self.full = max(self.full, self.at)

    def sample(self, n):
        i = torch.randint(0, self.full, (n,), device=self.obs.device)
        return self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i]


class Ensemble(nn.Module):
    """Linear layers of several critics in one product."""

    def __init__(self, n, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, i, o) * i ** -0.5)
        self.bias = nn.Parameter(torch.zeros(n, 1, o))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Critic(nn.Module):
    def __init__(self, n=2, h=1024):
        super().__init__()
        self.n = n
        self.net = nn.Sequential(Ensemble(n, OBS + ACT, h), nn.ReLU(), Ensemble(n, h, h), nn.ReLU(), Ensemble(n, h, 1))

    def forward(self, o, a):
        return self.net(torch.cat([o, a], -1).expand(self.n, -1, -1))


class Actor(nn.Module):
    def __init__(self, h=1024):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(OBS, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2 * ACT))

    def forward(self, o):
        mean, log_std = self.net(o).chunk(2, -1)
        std = log_std.clamp(-5, 2).exp()
        z = mean + std * torch.randn_like(mean)
        a = z.tanh()
        logp = -0.5 * ((z - mean) / std) ** 2 - std.log() - 0.919 - torch.log(1 - a ** 2 + 1e-6)
        return a, logp.sum(-1, keepdim=True), mean.tanh()


@case(family="soft actor-critic", mode="replay on the device, critics in one product, three optimizers", steps=6,
      roles={"*": "mlp", "": "mlp"}, stages=("forward", "backward", "optimizer", "evaluation"))
def replays():
    device = torch.device("cuda")
    actor, critic = Actor().to(device), Critic().to(device)
    target = copy.deepcopy(critic).requires_grad_(False)
    log_alpha = torch.zeros(1, device=device, requires_grad=True)
    stage("made", weights="log_alpha")
    of_critic, of_actor = torch.optim.Adam(critic.parameters(), 3e-4), torch.optim.Adam(actor.parameters(), 3e-4)
    of_alpha = torch.optim.Adam([log_alpha], 3e-4)
    replay = Replay(50_000, device)
    stage("replay", user="replay.obs, replay.next_obs, replay.act, replay.rew, replay.done")
    obs = torch.randn(64, OBS, device=device)
    for _ in range(6):
        for _ in range(4):
            with torch.no_grad():
                action, _, _ = actor(obs)
            following = torch.randn(64, OBS).to(device)
            replay.add(obs, action, torch.randn(64, 1).to(device), following, torch.zeros(64, 1, device=device))
            obs = following
        o, a, r, n, d = replay.sample(2048)
        with torch.no_grad():
            na, nlogp, _ = actor(n)
            backup = r + 0.99 * (1 - d) * (target(n, na).amin(0) - log_alpha.exp() * nlogp)
        q = critic(o, a)
        stage("sampled", inputs="o, a, r, n, d")
        of_critic.zero_grad()
        F.mse_loss(q, backup.expand_as(q)).backward()
        of_critic.step()
        critic.requires_grad_(False)
        pa, logp, _ = actor(o)
        of_actor.zero_grad()
        (log_alpha.exp().detach() * logp - critic(o, pa).amin(0)).mean().backward()
        of_actor.step()
        critic.requires_grad_(True)
        of_alpha.zero_grad()
        (-log_alpha.exp() * (logp.detach() - ACT)).mean().backward()
        of_alpha.step()
        with torch.no_grad():
            for p, t in zip(critic.parameters(), target.parameters()):
                t.lerp_(p, 0.005)
    actor.eval()
    with torch.inference_mode():
        state = torch.randn(256, OBS).to(device)
        for _ in range(5):
            state = state + 0.01 * F.pad(actor(state)[2], (0, OBS - ACT))


class Layer(nn.Module):
    def __init__(self, d, heads=6, drop=0.1):
        super().__init__()
        self.n1, self.n2, self.heads, self.drop = nn.LayerNorm(d), nn.LayerNorm(d), heads, drop
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.g1, self.g2 = nn.Parameter(1e-2 * torch.ones(d)), nn.Parameter(1e-2 * torch.ones(d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).reshape(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        x = x + self.g1 * self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.g2 * F.dropout(self.fc2(F.gelu(self.fc1(self.n2(x)))), self.drop, self.training)


class ViT(nn.Module):
    def __init__(self, d=192, depth=4, classes=100):
        super().__init__()
        self.cut, self.cls = nn.Conv2d(3, d, 8, 8), nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.zeros(1, 145, d))
        self.layers = nn.ModuleList(Layer(d) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, classes)

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


def classify(model, images):
    return model(images)


@case(family="torch.compile", mode="ViT compiled layer by layer, bf16 autocast, mixup, fused AdamW", hooks=False,
      functions={"classify": "other"}, casts=True, steps=4, needs=["triton"],
      stages=("forward", "backward", "optimizer", "evaluation"),
      env={"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
def mixes_compiled():
    model = ViT().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05, fused=True)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=4)
    watch(model, optimizer)
    for layer in model.layers:
        layer.compile()
    model.train()
    for _ in range(4):
        images, labels = torch.randn(32, 3, 96, 96).cuda(), torch.randint(0, 100, (32,)).cuda()
        lam, order = 0.7, torch.randperm(32, device="cuda")
        images = lam * images + (1 - lam) * images[order]
        stage("batch", inputs="images, labels, order")
        with torch.autocast("cuda", torch.bfloat16):
            logits = classify(model, images)
            loss = lam * F.cross_entropy(logits, labels) + (1 - lam) * F.cross_entropy(logits, labels[order])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        warm.step()
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for _ in range(2):
            images, labels = torch.randn(32, 3, 96, 96).cuda(), torch.randint(0, 100, (32,)).cuda()
            stage("validation", inputs="images, labels")
            right = (classify(model, images).argmax(1) == labels).sum()
    print(right.shape)


if __name__ == "__main__":
    main()
