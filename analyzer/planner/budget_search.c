/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/budget_search.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/load.h"
#include "analyzer/planner/validation.h"

static const struct change {
	enum vt_setting id;
	const char *value;
	enum vt_budget_search_price price;
	const char *cost;
} changes[] = {
	{ VT_SET_KEEP_LOGITS, "no", VT_BUDGET_SEARCH_FREE, "nothing: del outputs before backward" },
	{ VT_SET_BUCKET_VIEW, "yes", VT_BUDGET_SEARCH_FREE,
	  "nothing: gradient_as_bucket_view=True" },
	{ VT_SET_OPTIMIZER_LOOP, "fused", VT_BUDGET_SEARCH_FREE, "nothing: fused=True" },
	{ VT_SET_ATTENTION, "sdpa", VT_BUDGET_SEARCH_FREE,
	  "nothing, unless attention weights are read" },
	{ VT_SET_OPTIMIZER, "adamw8bit", VT_BUDGET_SEARCH_ROUND, "rounding of the states" },
	{ VT_SET_OFFLOAD, "optimizer", VT_BUDGET_SEARCH_COPY,
	  "copies over PCIe at every step; the step runs on the host" },
};

#define NR_CHANGES VT_ARRAY_SIZE(changes)

static const char recomputed_cost[] = "one more forward of these layers";

struct search {
	const struct vt_plan *plan;
	struct vt_budget_search_sets tried;
	struct vt_load load; /* the last replay: no change here touches the weights */
	double layer_flops;
	int has_like_layers;
};

static int is_fit(enum vt_card_fit fit)
{
	return fit == VT_FIT_YES || fit == VT_FIT_GUESSED;
}

static void add_step(struct vt_budget_search_set *set, enum vt_setting id, const char *value,
		     const char *cost)
{
	struct vt_change_step *step = &set->steps[set->nr_steps++];

	set->nr_changes += id != VT_SET_CHECKPOINTED;
	step->id = id;
	step->cost = cost;
	snprintf(step->value, sizeof(step->value), "%s", value);
}

int vt_budget_search_apply(struct vt_plan_settings *settings,
			   const struct vt_budget_search_set *set)
{
	struct vt_diag diag = { 0 };

	for (unsigned i = 0; i < set->nr_steps; i++)
		if (vt_plan_settings_set(settings, set->steps[i].id, set->steps[i].value, &diag))
			return -1;
	return 0;
}

/*
 * Two per parameter of a product and token, and those of attention's scores.  Of experts only the
 * chosen ones compute.
 */
static double layer_flops(const struct vt_plan *plan)
{
	const struct vt_architecture *model = plan->model;
	const struct vt_stack *s = &model->stacks[VT_PART_TEXT];
	double elements = 0, scores = 2 * vt_plan_symbol(plan, "s") * (double)s->heads *
				      (double)(s->head_dim + s->value_dim);

	for (size_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_plan_tensor *tensor = &model->tensors[i];
		double share = tensor->role == VT_ROLE_EXPERT && s->experts
				       ? (double)s->experts_per_token / (double)s->experts
				       : 1;

		if (tensor->part == VT_PART_TEXT && tensor->is_in_layer &&
		    (tensor->role == VT_ROLE_LINEAR || tensor->role == VT_ROLE_EXPERT))
			elements += (double)vt_tensor_elements(tensor) * share;
	}
	return vt_plan_symbol(plan, "T") *
	       (2 * elements / (s->layers ? (double)s->layers : 1) + scores) /
	       vt_plan_symbol(plan, "t");
}

/* A backward takes twice what its forward did. */
static double step_flops(const struct vt_plan *plan, double of_layer)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	double head = 2 * vt_plan_symbol(plan, "V") * (double)s->hidden * vt_plan_symbol(plan, "T");
	int is_frozen = vt_plan_setting(plan, VT_SET_LORA) != 0;

	return (is_frozen ? 2 : 3) *
	       (of_layer * (double)s->layers + head / vt_plan_symbol(plan, "t"));
}

/* The plan with a set's changes.  0, or -1 where there is none. */
static int judge(struct search *search, struct vt_budget_search_set *set)
{
	struct vt_plan_settings settings = *search->plan->settings;
	struct vt_plan plan = { .model = search->plan->model,
				.gpu = search->plan->gpu,
				.settings = &settings,
				.load = &search->load };
	struct vt_diag diag = { 0 };
	int rc = vt_budget_search_apply(&settings, set);

	if (!rc)
		rc = vt_validate_settings(&settings, &diag);
	if (!rc)
		rc = vt_estimate_make(&plan, &diag);
	if (!rc) {
		set->peak = vt_plan_peak(&plan);
		set->high = 0;
		for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
			set->high = plan.high[stage] > set->high ? plan.high[stage] : set->high;
		set->fit = vt_card_fit_judge(&plan, plan.gpu);
		vt_vector_push(&search->tried, *set);
	}
	vt_plan_release(&plan);
	return rc;
}

/* A set with so many layers recomputed: the first ones, which go backward last. */
static int judge_recomputed(struct search *search, const struct vt_budget_search_set *set,
			    uint64_t layers, struct vt_budget_search_set *with)
{
	char number[24];

	*with = *set;
	with->recomputed = layers;
	with->flops = search->layer_flops * (double)layers;
	if (!layers)
		return judge(search, with);
	if (with->price < VT_BUDGET_SEARCH_RECOMPUTE)
		with->price = VT_BUDGET_SEARCH_RECOMPUTE;
	add_step(with, VT_SET_CHECKPOINTING, "full", recomputed_cost);
	if (layers < search->plan->model->stacks[VT_PART_TEXT].layers) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)layers);
		add_step(with, VT_SET_CHECKPOINTED, number, recomputed_cost);
	}
	return judge(search, with);
}

/*
 * The bytes of each stage are linear in the number of layers, so that the numbers which fit are
 * next to each other: the fewest of them.
 */
static void find_fewest(struct search *search, const struct vt_budget_search_set *set,
			uint64_t most)
{
	uint64_t low = 0, high = most; /* does not fit; does */
	struct vt_budget_search_set tried;

	if (judge_recomputed(search, set, low, &tried) || is_fit(tried.fit) || !most)
		return;
	if (judge_recomputed(search, set, high, &tried) || !is_fit(tried.fit))
		return;
	while (search->has_like_layers && high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (judge_recomputed(search, set, middle, &tried))
			return;
		if (is_fit(tried.fit))
			high = middle;
		else
			low = middle;
	}
}

/* The set of those changes; 0, or -1 where one of them is none. */
static int make_set(const struct vt_plan *plan, unsigned mask, struct vt_budget_search_set *set)
{
	struct vt_diag diag = { 0 };

	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < NR_CHANGES; i++) {
		struct vt_plan_settings settings = *plan->settings;

		if (!(mask & 1u << i))
			continue;
		/* Another optimizer is another way of training; its states rounded are not. */
		if (changes[i].id == VT_SET_OPTIMIZER &&
		    vt_plan_setting(plan, VT_SET_OPTIMIZER) != VT_OPTIMIZER_ADAMW)
			return -1;
		if (vt_plan_settings_set(&settings, changes[i].id, changes[i].value, &diag) ||
		    settings.value[changes[i].id] == plan->settings->value[changes[i].id])
			return -1;
		add_step(set, changes[i].id, changes[i].value, changes[i].cost);
		if (changes[i].price > set->price)
			set->price = changes[i].price;
	}
	return 0;
}

static int compare_sets(const void *a, const void *b)
{
	const struct vt_budget_search_set *x = a, *y = b;

	if (x->price != y->price)
		return x->price < y->price ? -1 : 1;
	if (x->flops != y->flops)
		return x->flops < y->flops ? -1 : 1;
	if (x->nr_changes != y->nr_changes)
		return x->nr_changes < y->nr_changes ? -1 : 1;
	return x->peak < y->peak ? -1 : x->peak > y->peak;
}

/* Whether `other`, which is before it and fits, costs no more in anything. */
static int is_dominated(const struct vt_budget_search_set *set,
			const struct vt_budget_search_set *other)
{
	return (other->price == set->price || other->price <= VT_BUDGET_SEARCH_RECOMPUTE) &&
	       other->flops <= set->flops && other->nr_changes <= set->nr_changes;
}

/* One setting once, the cheapest first; a number of layers where it could be one. */
static void consider(struct vt_budget_search *budget, const struct vt_change_step *step,
		     int has_like_layers)
{
	const struct vt_change_step number = { VT_SET_CHECKPOINTED, "N", recomputed_cost };

	for (unsigned i = 0; i < budget->nr_considered; i++)
		if (budget->considered[i].id == step->id)
			return;
	budget->considered[budget->nr_considered++] = *step;
	if (step->id == VT_SET_CHECKPOINTING && has_like_layers)
		budget->considered[budget->nr_considered++] = number;
}

static void consider_all(struct vt_budget_search *budget, const struct search *search)
{
	for (size_t i = 0; i < search->tried.len; i++)
		for (unsigned j = 0; j < search->tried.items[i].nr_steps; j++)
			if (search->tried.items[i].steps[j].id != VT_SET_CHECKPOINTED)
				consider(budget, &search->tried.items[i].steps[j],
					 search->has_like_layers);
}

static void choose(struct vt_budget_search *budget, const struct vt_budget_search_sets *tried)
{
	for (size_t i = 0; i < tried->len; i++) {
		const struct vt_budget_search_set *set = &tried->items[i];
		int is_wanted = is_fit(set->fit);

		if (!i || set->peak < budget->least.peak)
			budget->least = *set;
		if (is_wanted && !budget->sets.len && i) {
			budget->nearest = tried->items[i - 1];
			budget->has_nearest = 1;
		}
		for (size_t j = 0; is_wanted && j < budget->sets.len; j++)
			is_wanted = !is_dominated(set, &budget->sets.items[j]);
		if (is_wanted)
			vt_vector_push(&budget->sets, *set);
	}
}

void vt_budget_search_search(struct vt_budget_search *budget, const struct vt_plan *plan)
{
	struct search search = { .plan = plan,
				 .layer_flops = layer_flops(plan),
				 .has_like_layers = vt_validate_has_like_layers(plan->model) };
	int is_recomputed = vt_plan_setting(plan, VT_SET_CHECKPOINTING) != VT_CHECKPOINTING_NONE;
	uint64_t layers = is_recomputed ? 0 : plan->model->stacks[VT_PART_TEXT].layers;

	for (unsigned mask = 0; mask < 1u << NR_CHANGES; mask++) {
		struct vt_budget_search_set set;

		if (!make_set(plan, mask, &set))
			find_fewest(&search, &set, layers);
	}
	vt_vector_sort(&search.tried, compare_sets);
	choose(budget, &search.tried);
	consider_all(budget, &search);
	budget->step_flops = step_flops(plan, search.layer_flops);
	vt_vector_release(&search.tried);
}

void vt_budget_search_release(struct vt_budget_search *budget)
{
	vt_vector_release(&budget->sets);
}
