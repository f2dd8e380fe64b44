# SPDX-License-Identifier: MIT
"""Style transfer: a picture is optimized so that features of a frozen net fit; losses are drawn at the end."""
# variants: clean growth results-kept
import torch
import torch.nn as nn
import torch.nn.functional as F

from advice import VARIANT, mistake


def vgg():
    layers, inside = [], 3
    for out in (64, 64, "M", 128, 128, "M", 256, 256):
        if out == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(inside, out, 3, padding=1), nn.ReLU(inplace=False)]
            inside = out
    return nn.Sequential(*layers).cuda().eval()


def gram(x):
    b, c, h, w = x.size()
    f = x.view(b * c, h * w)
    return f @ f.t() / (b * c * h * w)


def features(net, x):
    found = []
    for layer in net:
        x = layer(x)
        if isinstance(layer, nn.ReLU):
            found.append(x)
    return found


net = vgg()
for p in net.parameters():
    p.requires_grad_(False)
with torch.no_grad():
    style = [gram(f) for f in features(net, torch.zeros(1, 3, 256, 256).cuda())]
    content = features(net, torch.zeros(1, 3, 256, 256).cuda())[3]
picture = torch.zeros(1, 3, 256, 256, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam([picture], lr=0.02)
history = []
for step in range(8):
    optimizer.zero_grad()
    found = features(net, picture)
    style_loss = sum(F.mse_loss(gram(f), s) for f, s in zip(found, style))
    content_loss = F.mse_loss(found[3], content)
    loss = 1e5 * style_loss + content_loss
    loss.backward(retain_graph=VARIANT != "clean")
    optimizer.step()
    history.append((step, loss if mistake("growth") else loss.item()))
    if not mistake("results-kept"):
        del found, loss, style_loss, content_loss
print(len(history))
