/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_growth.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/leaks.h"
#include "analyzer/diagnosis/workload.h"

static struct vt_key place_of(const struct vt_allocation *a)
{
	return (struct vt_key){ a->common->made->python_stack, a->common->made->native_stack,
				a->common->made->node_class };
}

/* Fewer places may just be results that the program keeps; a graph has more. */
#define LEAST_GRAPH_PLACES 3

/*
 * Whether a graph piles up that backward passes used and kept (retain_graph=True): without that
 * much of it would have gone within its iteration, at times that were not recorded.
 */
static int is_retained_graph(const struct vt_finding_context *context, struct vt_map *places)
{
	const struct vt_stages *stages = context->facts->stages;
	struct vt_map found = { 0 };
	uint32_t nr = 0;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (a->common->device != context->device || !vt_map_find(places, place_of(a)) ||
		    !vt_finding_context_is_owner(context, i, VT_OWNERS_ACTIVATIONS) ||
		    a->freed_event <= vt_stages_next_backward(stages, a->event) ||
		    vt_map_find(&found, place_of(a)))
			continue;
		vt_map_put(&found, place_of(a), 1);
		nr++;
	}
	vt_map_release(&found);
	return nr >= LEAST_GRAPH_PLACES;
}

/* Blocks of the same places, those of the warm-up too: each from the end of its iteration. */
static void relieve_piles(struct vt_finding_context *context, const struct vt_leaks *leaks,
			  struct vt_map *places, struct vt_savings *savings)
{
	const int64_t *ends = leaks->iterations.ends;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		uint32_t iteration;

		if (a->common->device != context->device || !vt_allocation_is_owned(a) ||
		    !vt_map_find(places, place_of(a)))
			continue;
		iteration = vt_workload_stretch(ends, leaks->iterations.nr, a->event);
		if (iteration != VT_NO_INDEX)
			vt_savings_add_between(savings, a, a->common->size_bytes,
					       ends[iteration + 1] + 1, VT_NEVER);
	}
}

/* One block that is replaced by a larger one again and again would have stayed what it was. */
static void relieve_growing(struct vt_finding_context *context, const struct vt_leaks *leaks,
			    const struct vt_leak *leak, struct vt_savings *savings)
{
	uint64_t grown = (uint64_t)(leak->bytes_per_iteration *
				    (double)(leaks->iterations.nr - leaks->nr_warm_up));

	for (uint32_t k = 0; k < leak->blocks; k++) {
		const struct vt_allocation *a = &context->model->allocations[leak->kept[k]];

		vt_savings_add(savings, a,
			       grown < a->common->size_bytes ? grown : a->common->size_bytes);
		grown -= grown < a->common->size_bytes ? grown : a->common->size_bytes;
	}
}

/*
 * Whether the program itself drops what iterations left while it keeps the rest: a memory with a
 * bound, such as a replay buffer, that is still filling up.
 */
static int is_bounded(const struct vt_finding_context *context, const struct vt_leaks *leaks,
		      const struct vt_leak *leak)
{
	const struct vt_model *model = context->model;
	const struct vt_key place = place_of(&model->allocations[leak->allocation]);
	uint32_t dropped = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const struct vt_key other = place_of(a);
		uint32_t made, freed;

		if (a->common->device != context->device || memcmp(&other, &place, sizeof(place)))
			continue;
		made = vt_workload_stretch(leaks->iterations.ends, leaks->iterations.nr, a->event);
		freed = vt_workload_stretch(leaks->iterations.ends, leaks->iterations.nr,
					    a->freed_event);
		dropped += made != VT_NO_INDEX && freed != VT_NO_INDEX && freed > made + 1;
	}
	return dropped > 1;
}

static uint64_t relieve(struct vt_finding_context *context, const struct vt_leaks *leaks,
			struct vt_savings *savings, int *is_least)
{
	struct vt_map places = { 0 };
	double per_turn = 0;

	for (uint32_t i = 0; i < leaks->nr_growth; i++) {
		const struct vt_leak *leak = &leaks->growth[i];

		if (is_bounded(context, leaks, leak))
			continue;
		per_turn += leak->bytes_per_iteration;
		if (leak->form == VT_LEAK_GROWING)
			relieve_growing(context, leaks, leak, savings);
		else
			for (uint32_t k = 0; k < leak->blocks; k++)
				vt_map_put(&places,
					   place_of(&context->model->allocations[leak->kept[k]]),
					   1);
	}
	relieve_piles(context, leaks, &places, savings);
	*is_least = is_retained_graph(context, &places);
	vt_map_release(&places);
	return (uint64_t)per_turn;
}

static void add_growth(struct vt_finding_context *context, const struct vt_leaks *leaks)
{
	const struct vt_leak *leak = &leaks->growth[0];
	const char *path = leak->nr_holders ? leak->holders[0].path : NULL;
	struct vt_savings savings = { 0 };
	char one[VT_UNITS_MAX], *text;
	uint64_t per_turn;
	int is_least;

	per_turn = relieve(context, leaks, &savings, &is_least);
	if (!savings.len)
		return;
	vt_units_bytes(one, sizeof(one), per_turn);
	text = vt_xasprintf("%s per %s, %u iterations%s%s%s", one,
			    vt_iterations_words[leaks->iterations.kind], leaks->iterations.nr,
			    path ? " (" : "", path ? path : "", path ? ")" : "");
	if (is_least)
		vt_finding_context_add_least(context, VT_FINDING_GROWTH, &savings, 0,
					     leak->allocation, text);
	else
		vt_finding_context_add(context, VT_FINDING_GROWTH, &savings, leak->allocation,
				       text);
}

/* The graphs of earlier steps that are alive at the highest use. */
struct retained {
	struct vt_map places;
	uint64_t bytes;
	uint32_t largest;
	uint32_t nr_steps;
};

/* Fewer may be what a program needs: results of the last step, read in this one. */
#define LEAST_RETAINED_STEPS 3

/* Of a graph, also of one that a backward pass made (create_graph=True). */
static int is_of_graph(const struct vt_finding_context *context, uint32_t i)
{
	return context->unused_graph[i] == VT_IN_NO_UNUSED_GRAPH &&
	       vt_finding_context_is_owner(context, i,
					   VT_OWNERS_ACTIVATIONS | VT_OWNERS_ACTIVATION_GRADIENTS);
}

/* Whether the graph of an iteration was used by its backward pass and is alive; adds it then. */
static int add_retained(struct vt_finding_context *context, const struct vt_leaks *leaks,
			uint32_t iteration, struct retained *retained)
{
	const struct vt_iterations *iterations = &leaks->iterations;
	const struct vt_stages *stages = context->facts->stages;
	VT_VECTOR(uint32_t) blocks = { 0 };
	struct vt_map places = { 0 };
	int is_graph;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_allocation *a = &context->model->allocations[i];

		if (vt_workload_stretch(iterations->ends, iterations->nr, a->event) != iteration ||
		    vt_stages_next_backward(stages, a->event) > iterations->ends[iteration + 1] ||
		    !is_of_graph(context, i))
			continue;
		vt_map_put(&places, place_of(a), 1);
		vt_vector_push(&blocks, i);
	}
	is_graph = places.len >= LEAST_GRAPH_PLACES;
	for (size_t k = 0; k < blocks.len && is_graph; k++) {
		const struct vt_allocation *all = context->model->allocations;
		const struct vt_allocation *a = &all[blocks.items[k]];

		vt_map_put(&retained->places, place_of(a), 1);
		retained->bytes += a->common->size_bytes;
		if (retained->largest == VT_NO_INDEX ||
		    a->common->size_bytes > all[retained->largest].common->size_bytes)
			retained->largest = blocks.items[k];
	}
	vt_map_release(&places);
	vt_vector_release(&blocks);
	return is_graph;
}

/*
 * Graphs that pile up in an epoch and go with it: losses added up to be printed, a hidden state
 * that is never detached.  Over the whole run that does not grow.
 */
static void add_growth_to_peak(struct vt_finding_context *context, const struct vt_leaks *leaks)
{
	const struct vt_iterations *iterations = &leaks->iterations;
	struct retained retained = { .largest = VT_NO_INDEX };
	struct vt_savings savings = { 0 };
	uint32_t at = (uint32_t)vt_search_first(i, iterations->nr,
						iterations->ends[i + 1] < context->event);
	char one[VT_UNITS_MAX];

	while (at && add_retained(context, leaks, at - 1, &retained)) {
		retained.nr_steps++;
		at--;
	}
	if (retained.nr_steps >= LEAST_RETAINED_STEPS) {
		relieve_piles(context, leaks, &retained.places, &savings);
		vt_units_bytes(one, sizeof(one), retained.bytes / retained.nr_steps);
		vt_finding_context_add_least(
			context, VT_FINDING_GROWTH, &savings, 0, retained.largest,
			vt_xasprintf("%s per step, the graphs of %u steps at the peak", one,
				     retained.nr_steps));
	}
	vt_map_release(&retained.places);
}

void vt_find_growth_detect(struct vt_finding_context *context)
{
	const struct vt_leaks_options options = { .device = context->device };
	struct vt_leaks leaks;

	vt_leaks_init(&leaks, context->attribution, &options);
	if (leaks.nr_growth && leaks.iterations.kind != VT_ITERATION_SLICE)
		add_growth(context, &leaks);
	else if (context->is_training && leaks.iterations.kind == VT_ITERATION_STEP)
		add_growth_to_peak(context, &leaks);
	vt_leaks_release(&leaks);
}

/* Of one device and line, and no more than what piles up there. */
static int is_told_by(const struct vt_finding *results, const struct vt_finding *growth)
{
	return results->id == VT_FINDING_RESULTS_KEPT && results->device == growth->device &&
	       results->where && growth->where && !strcmp(results->where, growth->where) &&
	       results->saves_bytes <= growth->saves_bytes;
}

void vt_find_growth_drop_told(struct vt_finding_context *context)
{
	struct vt_findings *findings = context->findings;
	struct vt_finding growth = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < findings->len; i++)
		if (findings->items[i].id == VT_FINDING_GROWTH &&
		    findings->items[i].device == context->device)
			growth = findings->items[i];
	for (size_t i = 0; i < findings->len; i++) {
		struct vt_finding finding = findings->items[i];

		if (is_told_by(&finding, &growth))
			vt_finding_release(&finding);
		else
			findings->items[nr++] = finding;
	}
	findings->len = nr;
}
