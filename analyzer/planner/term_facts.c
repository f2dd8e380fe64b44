/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/term_facts.h"

static const struct vt_stack *text_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_TEXT];
}

static const struct vt_stack *encoder_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_ENCODER];
}

int64_t vt_term_facts_eager(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_ATTENTION) == VT_ATTENTION_EAGER ||
	       text_of(plan)->has_scores_cap || text_of(plan)->has_eager_only;
}

int64_t vt_term_facts_scanned(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_SCAN) == VT_SCAN_SEQUENTIAL &&
	       (text_of(plan)->mixer == VT_MIXER_MAMBA || text_of(plan)->mixer == VT_MIXER_MAMBA2);
}

int64_t vt_term_facts_casting(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_AUTOCAST) &&
	       (vt_plan_is_training(plan) ||
		(!vt_plan_setting(plan, VT_SET_LORA) && !vt_plan_setting(plan, VT_SET_QUANTISE)));
}

int64_t vt_term_facts_partial(const struct vt_plan *plan)
{
	double checkpointed = vt_plan_symbol(plan, "ck");

	return checkpointed && checkpointed < vt_plan_symbol(plan, "L");
}

/* X(identifier, name, words, value): rows of the table, where `plan` is asked. */
#define FLAG  "no yes"
#define NORMS "rms rms-fp32 layer layer-fp32"
#define MLPS  "gated plain"
#define FACTS(X)                                                                                   \
	X(eager, "eager", FLAG, vt_term_facts_eager(plan))                                         \
	X(scanned, "scanned", FLAG, vt_term_facts_scanned(plan))                                   \
	X(casting, "casting", FLAG, vt_term_facts_casting(plan))                                   \
	X(partial, "partly_checkpointed", FLAG, vt_term_facts_partial(plan))                       \
	X(nominal, "nominal", FLAG, plan->model->is_nominal)                                       \
	X(stored, "stored", FLAG, plan->model->nr_tensors && plan->model->tensors[0].bits > 0)     \
	X(tied, "tied", FLAG, plan->model->is_tied)                                                \
	X(projector_mlp, "projector_mlp", FLAG, plan->model->has_projector_mlp)                    \
	X(card, "card_known", FLAG, plan->gpu && plan->gpu->nr_sms)                                \
	X(context, "context_known", FLAG,                                                          \
	  vt_plan_setting(plan, VT_SET_CONTEXT) || (plan->gpu && plan->gpu->context_bytes))        \
	X(norm, "norm", NORMS, text_of(plan)->norm)                                                \
	X(mlp, "mlp", MLPS, text_of(plan)->mlp)                                                    \
	X(mixer, "mixer", "none mamba mamba2 delta convolution", text_of(plan)->mixer)             \
	X(steps, "activation_steps", NULL, text_of(plan)->activation_steps)                        \
	X(widest, "activation_widest", NULL, text_of(plan)->activation_widest)                     \
	X(qk_norm, "qk_norm", FLAG, text_of(plan)->has_qk_norm)                                    \
	X(mlp_bias, "mlp_bias", FLAG, text_of(plan)->has_mlp_bias)                                 \
	X(joined_gate, "joined_gate", FLAG, text_of(plan)->has_joined_gate)                        \
	X(joined_qkv, "joined_qkv", FLAG, text_of(plan)->has_one_qkv_product)                      \
	X(fused_qkv, "fused_qkv", FLAG, text_of(plan)->has_fused_qkv)                              \
	X(joined_rotary, "joined_rotary", FLAG, text_of(plan)->has_joined_rotary)                  \
	X(fp32_rotary, "fp32_rotary", FLAG, text_of(plan)->has_fp32_rotary)                        \
	X(fp32_scores, "fp32_scores", FLAG, text_of(plan)->has_fp32_scores)                        \
	X(sinks, "sinks_in_scores", FLAG, text_of(plan)->has_sinks_in_scores)                      \
	X(summed_scores, "summed_scores", FLAG, text_of(plan)->has_summed_scores)                  \
	X(held_scores, "held_scores", FLAG, text_of(plan)->has_held_scores)                        \
	X(returned, "returned_weights", FLAG, text_of(plan)->has_returned_weights)                 \
	X(scores_cap, "scores_cap", FLAG, text_of(plan)->has_scores_cap)                           \
	X(broadcast, "broadcast_keys", FLAG, text_of(plan)->has_broadcast_keys)                    \
	X(relative, "relative_positions", FLAG, text_of(plan)->has_relative_positions)             \
	X(learned, "learned_positions", FLAG, text_of(plan)->positions != 0)                       \
	X(shared_input, "shared_norm_input", FLAG, text_of(plan)->has_shared_norm_input)           \
	X(behind, "norms_behind", FLAG, text_of(plan)->has_norms_behind)                           \
	X(held, "attention_held", FLAG, text_of(plan)->is_attention_held)                          \
	X(sum_attention, "sum_of_attention", FLAG, text_of(plan)->is_sum_of_attention)             \
	X(sum_mlp, "sum_of_mlp", FLAG, text_of(plan)->is_sum_of_mlp)                               \
	X(embedding_norm, "embedding_norm", FLAG, text_of(plan)->has_embedding_norm)               \
	X(dropout, "layer_dropout", FLAG, text_of(plan)->has_dropout)                              \
	X(attention_dropout, "attention_dropout", FLAG, text_of(plan)->has_attention_dropout)      \
	X(embedding_dropout, "embedding_dropout", FLAG, text_of(plan)->has_embedding_dropout)      \
	X(inner_dropout, "inner_dropout", FLAG, text_of(plan)->has_inner_dropout)                  \
	X(cache_off, "cache_off", FLAG, text_of(plan)->is_cache_off)                               \
	X(no_cache, "no_cache", FLAG, text_of(plan)->has_no_cache)                                 \
	X(generated_cache, "generated_cache", FLAG, text_of(plan)->has_generated_cache)            \
	X(fp32_router, "fp32_router", FLAG, text_of(plan)->has_fp32_router)                        \
	X(shared_gate, "shared_gate", FLAG, text_of(plan)->has_shared_gate)                        \
	X(fp32_experts, "fp32_experts", FLAG, text_of(plan)->has_fp32_experts)                     \
	X(soft_cap, "soft_cap", FLAG, text_of(plan)->has_soft_cap)                                 \
	X(scaled_logits, "scaled_logits", FLAG, text_of(plan)->has_scaled_logits)                  \
	X(added_bias, "added_bias", FLAG, text_of(plan)->has_added_bias)                           \
	X(head_bias, "head_bias", FLAG, text_of(plan)->has_head_bias)                              \
	X(no_head, "no_head", FLAG, text_of(plan)->has_no_head)                                    \
	X(masked_head, "masked_head", FLAG, text_of(plan)->has_masked_head)                        \
	X(plain_loss, "plain_loss", FLAG, text_of(plan)->has_plain_loss)                           \
	X(encoder_norm, "encoder_norm", NORMS, encoder_of(plan)->norm)                             \
	X(encoder_mlp, "encoder_mlp", MLPS, encoder_of(plan)->mlp)                                 \
	X(encoder_steps, "encoder_activation_steps", NULL, encoder_of(plan)->activation_steps)     \
	X(encoder_inner, "encoder_inner_dropout", FLAG, encoder_of(plan)->has_inner_dropout)

#define GETTER(id, name, words, value)                                                             \
	static int64_t get_##id(const struct vt_plan *plan)                                        \
	{                                                                                          \
		return (int64_t)(value);                                                           \
	}
FACTS(GETTER)
#undef GETTER

#define ROW(id, name, words, value) { name, words, get_##id },
static const struct vt_term_fact facts[] = { FACTS(ROW) };
#undef ROW

const struct vt_term_fact *vt_term_facts_at(unsigned id)
{
	return id < VT_ARRAY_SIZE(facts) ? &facts[id] : NULL;
}
