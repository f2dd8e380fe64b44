# SPDX-License-Identifier: MIT
"""Anomalies in time series: a recurrent autoencoder; errors of each window are kept to set a threshold."""
# variants: clean predictions-gathered graph-unused growth
import torch
import torch.nn as nn

from advice import VARIANT, adamw, mistake


class LSTMAutoencoder(nn.Module):
    def __init__(self, n_features=64, hidden=256):
        super().__init__()
        self.encoder = nn.LSTM(n_features, hidden, num_layers=2, batch_first=True)
        self.decoder = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True)
        self.output = nn.Linear(hidden, n_features)

    def forward(self, x):
        _, (h, _) = self.encoder(x)
        z = h[-1].unsqueeze(1).repeat(1, x.size(1), 1)
        out, _ = self.decoder(z)
        return self.output(out)


model = LSTMAutoencoder().cuda()
optimizer = adamw(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
curve = []
for epoch in range(2):
    model.train()
    running = 0
    for i in range(5):
        x = torch.zeros(64, 100, 64).cuda()
        loss = loss_fn(model(x), x)
        optimizer.zero_grad()
        loss.backward(retain_graph=VARIANT == "growth")
        optimizer.step()
        if mistake("growth"):
            running = running + loss
        else:
            running = running + loss.item()
        del loss
    curve.append(float(running))
    del running
model.eval()
errors = []
if VARIANT != "growth":
    with torch.set_grad_enabled(mistake("graph-unused")):
        for i in range(80 if VARIANT == "predictions-gathered" else 2):
            x = torch.zeros(256, 100, 64).cuda()
            error = (model(x) - x).abs()
            errors.append(error if mistake("predictions-gathered") else error.cpu())
            del error
    errors = torch.cat(errors)
    print(torch.quantile(errors[:1000].flatten()[:10000].cpu(), 0.99).item())
