/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_unneeded.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/units.h"
#include "common/journal_format.h"

/* Complete steps without a gradient; fewer may be an expert that got no tokens. */
#define LEAST_STEPS_FROZEN 3

static uint32_t step_at(const struct vt_finding_context *context, int64_t event)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, event);

	return span == VT_NO_INDEX ? 0 : stages->spans[span].step;
}

static uint32_t last_complete(const struct vt_steps *steps)
{
	uint32_t last = steps->nr;

	while (last && !steps->steps[last - 1].is_complete)
		last--;
	return last;
}

/* A gradient that lives on past the next step's zero_grad() is kept, and added to in place. */
static uint32_t last_used_step(const struct vt_finding_context *context,
			       const struct vt_allocation *a)
{
	uint32_t made = step_at(context, a->event), freed = context->facts->stages->steps.nr;

	if (a->freed_event != VT_NEVER)
		freed = step_at(context, a->freed_event);
	return freed > made + 1 ? freed : made;
}

static void note_step(const struct vt_finding_context *context, struct vt_map *last_steps,
		      const struct vt_tensor *row, uint32_t step)
{
	struct vt_key key = vt_finding_context_name_key(context, row);
	const uint64_t *known = vt_map_find(last_steps, key);

	if (!known || *known < step)
		vt_map_put(last_steps, key, step);
}

/* By name of a parameter: the last step in which it had a gradient; returns that of all. */
static uint32_t collect_trained(const struct vt_finding_context *context, struct vt_map *last_steps)
{
	const struct vt_model *model = context->model;
	/* By row: the step + 1. */
	uint32_t *of_rows = vt_xcalloc((size_t)model->nr_tensors + 1, sizeof(*of_rows));
	uint32_t latest = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_tensor *row =
			vt_names_find(&context->facts->names, i, 1u << VT_ROLE_GRADIENT);
		uint32_t step, *known;

		if (!row && vt_narrow_get(&context->facts->gradient_of, i))
			row = &model->tensors[vt_narrow_get(&context->facts->gradient_of, i) - 1];
		if (!row)
			continue;
		step = last_used_step(context, &model->allocations[i]) + 1;
		known = &of_rows[row - model->tensors];
		*known = step > *known ? step : *known;
	}
	for (uint32_t t = 0; t < model->nr_tensors; t++)
		if (of_rows[t]) {
			note_step(context, last_steps, &model->tensors[t], of_rows[t] - 1);
			latest = of_rows[t] - 1 > latest ? of_rows[t] - 1 : latest;
		}
	free(of_rows);
	return latest;
}

/* The parameter of a state "layers.0.weight.exp_avg"; NULL: it has no such name. */
static uint64_t *last_step_of(const struct vt_finding_context *context,
			      const struct vt_map *last_steps, const struct vt_tensor *state)
{
	const char *name = vt_model_text(context->model, state->name);
	const char *dot = name ? strrchr(name, '.') : NULL;

	return dot ? vt_map_find(last_steps, vt_map_text_key(name, (size_t)(dot - name))) : NULL;
}

void vt_find_unneeded_detect(struct vt_finding_context *context)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t last = last_complete(&stages->steps), latest, first = VT_NO_INDEX;
	struct vt_savings savings = { 0 };
	struct vt_map last_steps = { 0 };
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	if (!context->is_training)
		return;
	latest = collect_trained(context, &last_steps);
	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *state =
			vt_names_find(&context->facts->names, i, 1u << VT_ROLE_OPTIMIZER);
		const uint64_t *step = state ? last_step_of(context, &last_steps, state) : NULL;

		if (!step || *step + LEAST_STEPS_FROZEN > last || *step >= latest)
			continue;
		first = first == VT_NO_INDEX ? i : first;
		bytes += a->common->size_bytes;
		vt_savings_add_between(
			&savings, a, a->common->size_bytes,
			stages->spans[stages->steps.steps[*step].first_span].first_event, VT_NEVER);
	}
	vt_map_release(&last_steps);
	if (first == VT_NO_INDEX)
		return;
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_STATES_UNUSED, &savings, first,
		     vt_xasprintf("%s in %zu blocks", all, savings.len));
}
