/* SPDX-License-Identifier: MIT */
/* What several files of terms ask of a plan, and the one way to add what layers keep. */
#include "analyzer/planner/term_facts.h"
#include "analyzer/planner/terms.h"

static const struct vt_stack *text_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_TEXT];
}

const char *vt_terms_over(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_TENSOR) > 1 ? "/t" : "";
}

int vt_terms_is_partial(const struct vt_plan *plan)
{
	return (int)vt_term_facts_partial(plan);
}

void vt_terms_add_piece(struct vt_plan *plan, const char *owner, const char *layers,
			const char *bytes, const char *why, int is_recomputed)
{
	vt_terms_add_piece_of(plan, owner, layers, "T", bytes, why, is_recomputed);
}

void vt_terms_add_piece_of(struct vt_plan *plan, const char *owner, const char *layers,
			   const char *tokens, const char *bytes, const char *why,
			   int is_recomputed)
{
	/* Of some layers the last ones go backward first, and are not recomputed. */
	int is_partial = is_recomputed && layers && vt_terms_is_partial(plan);
	const unsigned one = VT_IN(FIRST_LAYER) | VT_IN(BACKWARD_BOTTOM) |
			     (is_recomputed && !is_partial ? VT_IN(BACKWARD_TOP) : 0);
	const struct vt_term_spec single = { owner, one,
		is_recomputed ? VT_PLAYED_RECOMPUTED : VT_PLAYED_PASSED_OVER, NULL, NULL, why };
	const struct vt_term_spec whole = { owner, VT_IN_WHOLE,
		layers ? VT_PLAYED_KEPT : VT_PLAYED_STAGED, NULL, NULL, why };
	const char *times = layers ? layers : "1";

	vt_plan_add(plan, &single, "min(%s,1)*%s*(%s)", times, tokens, bytes);
	if (is_partial)
		vt_plan_add(plan, &whole, "max(%s-ck,0)*%s*(%s)", times, tokens, bytes);
	else if (!is_recomputed)
		vt_plan_add(plan, &whole, "%s*%s*(%s)", times, tokens, bytes);
}

int vt_terms_is_eager(const struct vt_plan *plan)
{
	return (int)vt_term_facts_eager(plan);
}

const char *vt_terms_mixers(const struct vt_plan *plan)
{
	return text_of(plan)->mixer_layers == text_of(plan)->layers ? "L" : "Lmix";
}

const char *vt_terms_attentions(const struct vt_plan *plan)
{
	return text_of(plan)->attention_layers == text_of(plan)->layers ? "L" : "La";
}

int vt_terms_is_scanned(const struct vt_plan *plan)
{
	return (int)vt_term_facts_scanned(plan);
}

int vt_terms_is_frozen(const struct vt_plan *plan)
{
	return vt_plan_setting(plan, VT_SET_FREEZE) == VT_FREEZE_ALL_BUT_PROJECTOR ||
	       vt_plan_setting(plan, VT_SET_LORA);
}

int vt_terms_mlp_tensors(const struct vt_plan *plan, const struct vt_stack *s)
{
	int is_kept = !vt_terms_is_frozen(plan);

	/* A gated one multiplies two, and needs both; dropout behind it needs none of them. */
	return s->activation_steps + (s->mlp == VT_MLP_GATED ? 2 : 0) + is_kept +
	       (s->has_inner_dropout && s->mlp == VT_MLP_PLAIN && !s->activation_steps);
}

double vt_terms_value(const struct vt_plan *plan, const char *formula)
{
	const char *error;
	double bytes = 0;

	vt_formula_evaluate(formula, &plan->symbols, &bytes, &error);
	return bytes;
}

const char *vt_terms_mlp_width(const struct vt_plan *plan)
{
	if (!vt_plan_symbol(plan, "Lmoe"))
		return "i";
	return vt_plan_symbol(plan, "Ldense") ? "max(i,is)" : "is";
}
