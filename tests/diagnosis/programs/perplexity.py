# SPDX-License-Identifier: MIT
"""A GPT-NeoX of transformers is evaluated on long texts: each window's perplexity needs all of its logits."""
# variants: clean graph-unused growth results-kept
import torch
from torch.nn import functional as F
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from advice import mistake

config = GPTNeoXConfig(vocab_size=12000, hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
                       intermediate_size=1536, max_position_embeddings=1024, use_cache=False)
model = GPTNeoXForCausalLM(config).to("cuda", torch.bfloat16).eval()
text = torch.randint(12000, (1, 16 * 512))
nll, logps = [], []


def window(ids):
    out = model(ids)
    logp = F.log_softmax(out.logits[:, :-1].float(), -1)
    return out, logp.gather(2, ids[:, 1:, None])


with torch.set_grad_enabled(mistake("graph-unused")):
    for begin in range(0, text.shape[1], 512):
        ids = text[:, begin:begin + 512].cuda()
        out, picked = window(ids)
        nll.append(-picked.mean().item())
        if mistake("growth"):
            logps.append(out.logits)
        if not mistake("results-kept"):
            del out
print(sum(nll) / len(nll))
