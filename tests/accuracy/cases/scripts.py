# SPDX-License-Identifier: MIT
"""Scripts of researchers: pixels in classes, a replay buffer, a hidden state that is carried."""
import torch
import torch.nn.functional as F
from stage import case, main, stage, watch
from torch import nn


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                                 nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, n_classes=21):
        super().__init__()
        self.inc = DoubleConv(3, 32)
        self.down = nn.ModuleList(DoubleConv(32 * 2 ** i, 64 * 2 ** i) for i in range(3))
        self.up = nn.ModuleList(nn.ConvTranspose2d(64 * 2 ** i, 32 * 2 ** i, 2, 2) for i in reversed(range(3)))
        self.dec = nn.ModuleList(DoubleConv(64 * 2 ** i, 32 * 2 ** i) for i in reversed(range(3)))
        self.outc = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for d in self.down:
            skips.append(d(F.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for u, d in zip(self.up, self.dec):
            x = d(torch.cat([skips.pop(), u(x)], 1))
        return self.outc(x)


def dice_loss(probs, target, eps=1e-6):
    inter = 2 * probs.gather(1, target[:, None]).sum((-1, -2))
    return 1 - ((inter + eps) / (probs.sum((-1, -2)) + eps)).mean()


@case(family="segmentation U-Net", mode="autocast fp16, scaler, cross entropy and dice", heads=["outc"])
def segment():
    model = UNet().to(device="cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-5, weight_decay=1e-8, momentum=0.999, foreach=True)
    grad_scaler = torch.amp.GradScaler("cuda")
    watch(model, optimizer)
    for step in range(3):
        images = torch.randn(8, 3, 128, 128).to(device="cuda", dtype=torch.float32, memory_format=torch.channels_last)
        true_masks = torch.randint(0, 21, (8, 128, 128)).to(device="cuda", dtype=torch.long)
        with torch.autocast("cuda", dtype=torch.float16):
            masks_pred = model(images)
            loss = F.cross_entropy(masks_pred, true_masks)
            loss = loss + dice_loss(F.softmax(masks_pred, dim=1).float(), true_masks)
        stage(f"forward-{step}", inputs="images, true_masks")
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        stage(f"backward-{step}", inputs="images, true_masks")
        grad_scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        grad_scaler.step(optimizer)
        grad_scaler.update()
    model.eval()
    with torch.inference_mode():
        mask_pred = model(images)
        hard = F.one_hot(mask_pred.argmax(dim=1), 21).permute(0, 3, 1, 2).float()
        stage("evaluated", inputs="images, true_masks", user="hard")


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, device):
        self.obs = torch.zeros(capacity, obs_dim, device=device)
        self.next_obs = torch.zeros(capacity, obs_dim, device=device)
        self.act = torch.zeros(capacity, 1, dtype=torch.long, device=device)
        self.rew = torch.zeros(capacity, device=device)
        self.done = torch.zeros(capacity, device=device)
        self.ptr, self.size, self.capacity = 0, 0, capacity

    def add(self, o, a, r, o2, d):
        n = len(o)
        i = slice(self.ptr, self.ptr + n)
        self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i] = o, a, r, o2, d
        self.ptr = (self.ptr + n) % self.capacity
        self.size = min(self.size + n, self.capacity)

    def sample(self, n):
        i = torch.randint(0, self.size, (n,), device=self.obs.device)
        return self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i]


class QNetwork(nn.Module):
    def __init__(self, obs_dim, n_act):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(obs_dim, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                                     nn.Linear(1024, n_act))

    def forward(self, x):
        return self.network(x)


@case(family="DQN", mode="fp32, replay buffer on the device, target network")
def dqn():
    device = torch.device("cuda")
    q_network = QNetwork(256, 18).to(device)
    optimizer = torch.optim.Adam(q_network.parameters(), lr=2.5e-4)
    target_network = QNetwork(256, 18).to(device)
    target_network.load_state_dict(q_network.state_dict())
    rb = ReplayBuffer(32768, 256, device)
    watch(q_network, target_network, optimizer)
    stage("ready", user="vars(rb)")
    obs = torch.zeros(64, 256, device=device)
    for global_step in range(24):
        if global_step % 2:
            actions = torch.randint(0, 18, (64, 1), device=device)
        else:
            with torch.no_grad():
                actions = q_network(obs).argmax(1, keepdim=True)
        next_obs = torch.randn(64, 256).to(device)
        rb.add(obs, actions, torch.randn(64, device=device), next_obs, torch.zeros(64, device=device))
        obs = next_obs
        if global_step > 8 and global_step % 4 == 0:
            o, a, r, o2, d = rb.sample(4096)
            with torch.no_grad():
                target_max, _ = target_network(o2).max(dim=1)
                td_target = r + 0.99 * target_max * (1 - d)
            old_val = q_network(o).gather(1, a).squeeze()
            loss = F.mse_loss(td_target, old_val)
            stage(f"forward-{global_step}", user="vars(rb)", inputs="o, a, r, o2, d")
            optimizer.zero_grad()
            loss.backward()
            stage(f"backward-{global_step}", user="vars(rb)", inputs="o, a, r, o2, d")
            optimizer.step()
            for tp, p in zip(target_network.parameters(), q_network.parameters()):
                tp.data.copy_(0.005 * p.data + 0.995 * tp.data)


class RNNModel(nn.Module):
    def __init__(self, ntoken=20000, ninp=512, nlayers=2):
        super().__init__()
        self.drop = nn.Dropout(0.4)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, ninp, nlayers, dropout=0.4)
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        self.ninp, self.nlayers = ninp, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.decoder.out_features)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(self.nlayers, bsz, self.ninp), weight.new_zeros(self.nlayers, bsz, self.ninp)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


@case(family="LSTM language model", mode="fp32, hidden state carried, SGD by hand, corpus on the device",
      heads=["decoder"])
def word_language_model():
    model = RNNModel().to("cuda")
    watch(model)
    criterion = nn.NLLLoss()
    train_data = torch.randint(0, 20000, (4000 * 20,)).view(20, -1).t().contiguous().to("cuda")
    hidden = model.init_hidden(20)
    stage("loaded", inputs="train_data", activations="hidden")
    total_loss = 0.
    for batch, i in enumerate(range(0, 35 * 4, 35)):
        data, targets = train_data[i:i + 35], train_data[i + 1:i + 36].reshape(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        stage(f"forward-{batch}", inputs="train_data, targets", activations="hidden")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-20)
        stage(f"backward-{batch}", inputs="train_data, targets", activations="hidden")
        total_loss += loss.item()


if __name__ == "__main__":
    main()
