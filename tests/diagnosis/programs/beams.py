# SPDX-License-Identifier: MIT
"""A BART of transformers translates with beams of its own generate(); scores of each word may be asked for."""
# variants: clean results-kept module-unused
import torch
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

from advice import VARIANT, mistake

config = BartConfig(vocab_size=16000, d_model=384, encoder_layers=4, decoder_layers=4, encoder_ffn_dim=1536,
                    decoder_ffn_dim=1536, encoder_attention_heads=6, decoder_attention_heads=6,
                    max_position_embeddings=256, forced_eos_token_id=None)
model = BartForConditionalGeneration(config).cuda().eval()
judge = BertModel(BertConfig(vocab_size=16000, hidden_size=384, num_hidden_layers=4, num_attention_heads=6,
                             intermediate_size=1536)).eval()
if mistake("module-unused"):
    judge.cuda()
texts = []
for batch in range(3):
    ids = torch.randint(5, 16000, (8, 96)).cuda()
    with torch.no_grad():
        out = model.generate(ids, num_beams=4, max_new_tokens=12, min_new_tokens=12, do_sample=False,
                             return_dict_in_generate=True, output_scores=VARIANT == "results-kept",
                             output_logits=VARIANT == "results-kept")
    texts.append(out.sequences.cpu())
    if not mistake("results-kept"):
        del out
print(len(texts))
