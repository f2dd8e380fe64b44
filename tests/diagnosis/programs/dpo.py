# SPDX-License-Identifier: MIT
"""Preferences: a GPT-2 of transformers is tuned against a frozen copy of itself, in half precision by autocast."""
# variants: clean graph-unused frozen-weights-wide logits-kept-whole
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import GPT2Config, GPT2LMHeadModel

from advice import CHUNKS, VARIANT, adamw, advised, mistake

config = GPT2Config(vocab_size=16000, n_positions=512, n_embd=384, n_layer=6, n_head=6, use_cache=False,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
policy, reference = GPT2LMHeadModel(config), GPT2LMHeadModel(config)
reference.load_state_dict(policy.state_dict())
reference.eval()
if not mistake("graph-unused"):
    reference.requires_grad_(False)
if VARIANT != "frozen-weights-wide" or not mistake("frozen-weights-wide"):
    reference.to(torch.bfloat16)
policy.cuda()
reference.cuda()
if advised("activations-kept"):
    policy.train()
    policy.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
opt = adamw(policy.parameters(), lr=1e-6)


def score(head, hidden, ids):
    logp = head(hidden).float().log_softmax(-1)
    return logp.gather(2, ids.unsqueeze(2)).squeeze(2).sum(1)


def log_prob(model, ids):
    hidden = model.transformer(ids[:, :-1]).last_hidden_state
    if VARIANT == "logits-kept-whole" and mistake("logits-kept-whole"):
        return score(model.lm_head, hidden, ids[:, 1:])
    parts = hidden.chunk(CHUNKS, 1), ids[:, 1:].chunk(CHUNKS, 1)
    return sum(checkpoint(score, model.lm_head, h, i, use_reentrant=False) for h, i in zip(*parts))


for step in range(3):
    chosen = torch.randint(16000, (4, 193)).cuda()
    rejected = torch.randint(16000, (4, 193)).cuda()
    both = torch.cat([chosen, rejected])
    with torch.autocast("cuda", torch.bfloat16):
        with torch.set_grad_enabled(mistake("graph-unused")):
            reference_logp = log_prob(reference, both)
        logp = log_prob(policy, both)
        gain = (logp - reference_logp.detach()).chunk(2)
        loss = -F.logsigmoid(0.1 * (gain[0] - gain[1])).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    print(loss.item())
    del loss, gain, logp, reference_logp
