/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * How far a kind of model may be off that nobody compared: more than the worst of those that were
 * planned before they were known (tests/planner/README.md: half of what was measured).
 */
#define GUESSED_FACTOR 2.5
/* The same of a kind that is known, in sizes and settings that nobody compared (unseen, there). */
#define KNOWN_FACTOR 1.05
/* What shapes alone decide; the allocator does not split off the ends of some blocks. */
#define SHAPES_FACTOR 1.01

#define STAGE_NAME(name, text) text,
static const char *const stage_names[] = { VT_PLAN_STAGES(STAGE_NAME) };
#undef STAGE_NAME

const char *vt_plan_stage_name(enum vt_plan_stage stage)
{
	return stage_names[stage];
}

double vt_plan_symbol(const struct vt_plan *plan, const char *name)
{
	const struct vt_symbol *found = vt_formula_find(&plan->symbols, name, strlen(name));

	return found ? found->value : 0;
}

void vt_plan_fail(struct vt_plan *plan, const char *error, const char *formula)
{
	if (plan->error)
		return;
	plan->error = error;
	plan->error_formula = vt_xstrdup(formula);
}

double vt_plan_evaluate(struct vt_plan *plan, const char *formula)
{
	const char *error;
	double bytes;

	if (vt_formula_evaluate(formula, &plan->symbols, &bytes, &error))
		vt_plan_fail(plan, error, formula);
	return bytes;
}

static char *substitute(const struct vt_plan *plan, const char *formula)
{
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_formula_substitute(formula, &plan->symbols, &text);
	return vt_buffer_detach(&text);
}

/* A share of one rank is the whole: "/t" says nothing then. */
static void drop_shares(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '/' && text[1] == 't' && !isalnum((unsigned char)text[2]))
			text += 2;
		else
			*to++ = *text++;
	}
	*to = '\0';
}

const char *vt_plan_doubt(const struct vt_plan *plan)
{
	return plan->doubt;
}

int vt_plan_is_guessed(const struct vt_plan *plan)
{
	return plan->model->is_guessed || vt_plan_doubt(plan);
}

/* What follows the card and not the model. */
static int is_of_card(const char *owner)
{
	return !strcmp(owner, "context") || !strcmp(owner, "workspace/cublas");
}

/* Parameters, what is kept of each, and caches; not what an optimizer takes for a moment. */
static int is_of_shapes(const char *owner)
{
	static const char *const owners[] = { "weights", "weights/cast", "gradients", "optimizer",
					      "buffers", "kv cache", "inputs" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(owners); i++)
		if (!strcmp(owner, owners[i]))
			return 1;
	return 0;
}

/* Low and high of what depends on the model: what a formula says is never exact. */
static void widen(const struct vt_plan *plan, struct vt_term *term)
{
	double factor = KNOWN_FACTOR;

	if (!plan->model || plan->model->is_nominal || !strcmp(term->owner, "context"))
		return;
	if (vt_plan_is_guessed(plan) && !is_of_card(term->owner))
		factor = GUESSED_FACTOR;
	else if (term->played != VT_PLAYED_TRANSIENT && is_of_shapes(term->owner))
		factor = SHAPES_FACTOR;
	term->low /= factor;
	/* Ends of blocks come on top; the replay of loading has those of the weights. */
	if (factor == SHAPES_FACTOR && strcmp(term->owner, "weights") != 0)
		factor += vt_plan_symbol(plan, "spread");
	term->high *= factor;
}

void vt_plan_add(struct vt_plan *plan, const struct vt_term_spec *spec, const char *formula)
{
	struct vt_term term = { .name = spec->name,
				.owner = spec->owner,
				.stages = spec->stages & plan->stages,
				.played = spec->played,
				.why = spec->why,
				.formula = vt_xstrdup(formula) };

	if (vt_plan_symbol(plan, "t") == 1)
		drop_shares(term.formula);
	vt_formula_tidy(term.formula);
	if (spec->played == VT_PLAYED_UNSAID)
		vt_plan_fail(plan, "a term without played", term.formula);
	term.bytes = vt_plan_evaluate(plan, term.formula);
	/* What is expected is between them, whatever they say of a size that nobody thought of. */
	term.low = spec->low ? fmin(vt_plan_evaluate(plan, spec->low), term.bytes) : term.bytes;
	term.high = spec->high ? fmax(vt_plan_evaluate(plan, spec->high), term.bytes) : term.bytes;
	widen(plan, &term);
	if (!plan->error && (!term.stages || term.high == 0)) {
		free(term.formula);
		return;
	}
	if (plan->is_explained)
		term.numbers = substitute(plan, term.formula);
	vt_vector_push(&plan->terms, term);
}

void vt_plan_add_up(struct vt_plan *plan)
{
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		plan->bytes[stage] = plan->low[stage] = plan->high[stage] = 0;
	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];

		for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++) {
			if (!(term->stages & 1u << stage))
				continue;
			plan->bytes[stage] += term->bytes;
			plan->low[stage] += term->low;
			plan->high[stage] += term->high;
		}
	}
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		if (plan->bytes[stage] > plan->bytes[plan->peak])
			plan->peak = (enum vt_plan_stage)stage;
}

void vt_plan_release(struct vt_plan *plan)
{
	for (size_t i = 0; i < plan->terms.len; i++) {
		free(plan->terms.items[i].formula);
		free(plan->terms.items[i].numbers);
	}
	vt_vector_release(&plan->terms);
	free(plan->error_formula);
	memset(plan, 0, sizeof(*plan));
}

double vt_plan_peak(const struct vt_plan *plan)
{
	return plan->bytes[plan->peak];
}
