/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_graphs.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/graph_lifetimes.h"

/* Fewer retained blocks may be results that the program's own variables hold. */
#define LEAST_RETAINED 3
/* Two estimates of one saving that differ by more leave it unknown. */
#define MOST_DOUBT 0.05
/* A node gives back what it saved one after the other; other frees may lie between. */
#define TEARDOWN_EVENTS 4

/* One pass and what follows up to the next, the loss for instance. */
struct graph {
	const struct vt_pass *pass;
	int64_t end_event;	 /* the next pass begins, VT_NEVER: none does */
	int64_t last_freed_event; /* of what was alive after the pass */
	uint32_t first, nr;	 /* allocations, as indices of struct graphs.blocks */
	uint32_t nr_retained;    /* of what the pass itself made */
	uint8_t is_consumed; /* a backward pass released some of it */
};

VT_VECTOR_DECLARE(graph_list, struct graph);
VT_VECTOR_DECLARE(block_list, uint32_t);

struct graphs {
	struct graph_list items;
	struct block_list blocks; /* of all graphs, each in order of their events */
	uint8_t *releasing;
	/*
	 * By place: twice how many passes later the last operator read what it made, and one more
	 * if it did so in that pass.  Operators are observed now and then, places repeat.
	 */
	struct vt_map read_later;
};

static const struct vt_allocation *block(const struct vt_finding_context *context,
					 const struct graphs *graphs, uint32_t at)
{
	return &context->model->allocations[graphs->blocks.items[at]];
}

static int is_freed_by_backward(const struct vt_finding_context *context,
				const struct vt_allocation *a)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = a->freed_event == VT_NEVER ? VT_NO_INDEX :
						     vt_stages_span_at(stages, a->freed_event);

	return a->common->freed->node_class ||
	       (span != VT_NO_INDEX && stages->spans[span].stage == VT_STAGE_BACKWARD);
}

static int is_of_graph(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_has(context, i, VT_OWNERS_ACTIVATIONS | VT_OWNERS_LOGITS);
}

static void add_block(struct vt_finding_context *context, struct graphs *graphs,
		      struct graph *graph, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];

	if (!is_of_graph(context, i) || a->common->made->node_class ||
	    a->common->made->thread != graph->pass->thread)
		return;
	vt_vector_push(&graphs->blocks, i);
	graph->nr++;
	graph->is_consumed |= a->event < graph->pass->end_event &&
			      is_freed_by_backward(context, a);
	if (a->freed_event <= graph->pass->end_event)
		return;
	graph->nr_retained += a->event < graph->pass->end_event;
	if (a->freed_event > graph->last_freed_event)
		graph->last_freed_event = a->freed_event;
}

/* By span: whether what was made before it was released in it by a node of the backward pass. */
static uint8_t *find_releasing(const struct vt_finding_context *context)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_model *model = context->model;
	uint8_t *releasing = vt_xcalloc((size_t)stages->nr_spans + 1, 1);

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		uint32_t span = VT_NO_INDEX;

		if (a->common->freed->node_class && a->freed_event != VT_NEVER)
			span = vt_stages_span_at(stages, a->freed_event);
		if (span != VT_NO_INDEX && a->event < stages->spans[span].first_event)
			releasing[span] = 1;
	}
	return releasing;
}

/*
 * Whether a backward pass that began while the graph was alive gave nothing back: with
 * retain_graph=True it may have used the graph and left it.
 */
static int may_be_retained(const struct vt_finding_context *context, const struct graphs *graphs,
			   const struct graph *graph)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t s = vt_stages_span_at(stages, graph->pass->first_event);

	for (; s < stages->nr_spans && stages->spans[s].first_event <= graph->last_freed_event; s++)
		if (stages->spans[s].stage == VT_STAGE_BACKWARD &&
		    stages->spans[s].first_event >= graph->pass->first_event)
			return !graphs->releasing[s];
	return 0;
}

/* It ran out of memory, or what followed did; the program may have gone on with the next batch. */
static int has_failed(const struct vt_finding_context *context, const struct graph *graph)
{
	for (uint32_t i = 0; i < context->model->nr_ooms; i++) {
		const struct vt_out_of_memory *oom = &context->model->ooms[i];

		if (oom->device == context->device && oom->event >= graph->pass->first_event &&
		    oom->event < graph->end_event)
			return 1;
	}
	return 0;
}

/* What failed or was interrupted may have been meant for a backward pass. */
static int is_cut_off(const struct vt_finding_context *context, const struct graph *graph)
{
	if (has_failed(context, graph))
		return 1;
	if (graph->end_event != VT_NEVER || context->is_ended_well)
		return 0;
	return context->has_failed || graph->last_freed_event == VT_NEVER;
}

static int is_unused(const struct vt_finding_context *context, const struct graphs *graphs,
		     const struct graph *graph)
{
	return graph->nr_retained >= LEAST_RETAINED && !graph->is_consumed &&
	       !is_cut_off(context, graph) && !may_be_retained(context, graphs, graph);
}

static void note_reader(const struct vt_passes *passes, struct graphs *graphs,
			const struct vt_operator_call *call, const struct vt_allocation *a,
			uint32_t made)
{
	uint32_t pass = (uint32_t)vt_search_first(p, passes->nr,
						  passes->passes[p].end_event <= call->event);
	const uint64_t *known = vt_map_find(&graphs->read_later, vt_finding_context_place_key(a));
	uint64_t distance;

	if (pass >= passes->nr || pass <= made)
		return;
	distance =
		2 * (uint64_t)(pass - made) + (passes->passes[pass].first_event <= call->event + 1);
	if (!known || *known < distance)
		vt_map_put(&graphs->read_later, vt_finding_context_place_key(a), distance);
}

/* Results of a pass, of which it may have several, that the program hands to a later one. */
static void find_later_readers(const struct vt_finding_context *context, struct graphs *graphs)
{
	const struct vt_operator_calls *calls = &context->model->calls;
	const struct vt_passes *passes = &context->facts->stages->passes;

	for (uint32_t c = 0; c < calls->nr; c++) {
		const struct vt_operator_call *call = &calls->items[c];

		for (uint32_t t = 0; t < call->nr_tensors && !call->node_class; t++) {
			const struct vt_call_tensor *tensor =
				&calls->tensors[call->first_tensor + t];
			uint32_t i = tensor->allocation, pass;
			const struct vt_allocation *a;

			if (tensor->is_output || i == VT_NO_INDEX)
				continue;
			a = &context->model->allocations[i];
			pass = vt_passes_find(passes, a);
			if (pass != VT_NO_INDEX)
				note_reader(passes, graphs, call, a, pass);
		}
	}
}

/* Until when the program itself holds a block for a later pass; 0: for none that was seen. */
static int64_t end_of_reading(const struct vt_finding_context *context, const struct graphs *graphs,
			      const struct graph *graph, const struct vt_allocation *a)
{
	const struct vt_passes *passes = &context->facts->stages->passes;
	const uint64_t *distance =
		vt_map_find(&graphs->read_later, vt_finding_context_place_key(a));
	uint64_t pass = (uint64_t)(graph->pass - passes->passes) + (distance ? *distance / 2 : 0);

	if (!distance || pass >= passes->nr)
		return 0;
	return *distance % 2 ? passes->passes[pass].end_event : passes->passes[pass].first_event;
}

static void find_graphs(struct vt_finding_context *context, struct graphs *graphs)
{
	const struct vt_passes *passes = &context->facts->stages->passes;
	const struct vt_model *model = context->model;
	uint32_t next = 0;

	graphs->releasing = find_releasing(context);
	find_later_readers(context, graphs);
	for (uint32_t p = 0; p < passes->nr; p++) {
		struct graph graph = { .pass = &passes->passes[p], .end_event = VT_NEVER };

		if (p + 1 < passes->nr)
			graph.end_event = passes->passes[p + 1].first_event;
		if (!graph.pass->has_autograd)
			continue;
		while (next < model->nr_allocations &&
		       model->allocations[next].event < graph.pass->first_event)
			next++;
		graph.first = (uint32_t)graphs->blocks.len;
		for (; next < model->nr_allocations &&
		       model->allocations[next].event < graph.end_event;
		     next++)
			add_block(context, graphs, &graph, next);
		if (is_unused(context, graphs, &graph))
			vt_vector_push(&graphs->items, graph);
	}
}

/* The result of the pass: the program's own variable holds it. */
static uint32_t result_of(const struct vt_finding_context *context, const struct graphs *graphs,
			  const struct graph *graph)
{
	uint32_t result = VT_NO_INDEX;

	for (uint32_t k = graph->first; k < graph->first + graph->nr; k++)
		if (block(context, graphs, k)->event < graph->pass->end_event)
			result = k;
	return result;
}

static void add_after(struct vt_savings *savings, const struct vt_allocation *a, int64_t end)
{
	if (end < a->freed_event && end > a->event)
		vt_savings_add_between(savings, a, a->common->size_bytes, end, VT_NEVER);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void relieve(struct vt_finding_context *context, const struct graphs *graphs,
		    struct vt_graph_lifetimes *lifetimes, struct vt_savings *likely,
		    struct vt_savings *latest)
{
	for (size_t g = 0; g < graphs->items.len; g++) {
		const struct graph *graph = &graphs->items.items[g];
		uint32_t first = graph->first, result = result_of(context, graphs, graph);

		vt_graph_lifetimes_see(lifetimes, graph->pass, &graphs->blocks.items[first],
				       graph->nr);
		for (uint32_t k = 0; k < graph->nr; k++) {
			const struct vt_allocation *a = block(context, graphs, first + k);
			int64_t held = end_of_reading(context, graphs, graph, a);

			if (first + k == result)
				continue;
			add_after(likely, a, later(held, vt_graph_lifetimes_likely(lifetimes, k)));
			add_after(latest, a, later(held, vt_graph_lifetimes_latest(lifetimes, k)));
		}
	}
}

static void mark_blocks(const struct vt_finding_context *context, const struct graphs *graphs)
{
	for (size_t g = 0; g < graphs->items.len; g++) {
		const struct graph *graph = &graphs->items.items[g];
		uint32_t result = result_of(context, graphs, graph);

		for (uint32_t k = graph->first; k < graph->first + graph->nr; k++) {
			int is_behind = block(context, graphs, k)->event >= graph->pass->end_event;

			if (k != result)
				context->unused_graph[graphs->blocks.items[k]] =
					is_behind ? VT_BEHIND_ITS_PASS : VT_IN_UNUSED_GRAPH;
		}
	}
}

static int compare_events(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

VT_VECTOR_DECLARE(event_list, int64_t);

/* When what the graphs retained was freed. */
static void find_teardowns(const struct vt_finding_context *context, const struct graphs *graphs,
			   struct event_list *events)
{
	for (size_t g = 0; g < graphs->items.len; g++) {
		const struct graph *graph = &graphs->items.items[g];

		for (uint32_t k = graph->first; k < graph->first + graph->nr; k++)
			if (block(context, graphs, k)->freed_event > graph->pass->end_event)
				vt_vector_push(events, block(context, graphs, k)->freed_event);
	}
	vt_vector_sort(events, compare_events);
}

static int is_torn_down(const struct event_list *events, int64_t freed_event)
{
	size_t at = vt_search_first(i, events->len,
				    events->items[i] < freed_event - TEARDOWN_EVENTS);

	return at < events->len && events->items[at] - TEARDOWN_EVENTS <= freed_event;
}

/*
 * Data, caches and what was made of results that the graph alone kept: each would have gone when
 * the same line made the next.
 */
static void relieve_kept_inputs(struct vt_finding_context *context, const struct event_list *events,
				struct vt_savings *savings, int has_results)
{
	const struct vt_model *model = context->model;
	struct vt_map next = { 0 };

	for (uint32_t i = model->nr_allocations; i-- > 0 && events->len;) {
		const struct vt_allocation *a = &model->allocations[i];
		/* Caches grow; the native stack changes where observing begins or ends. */
		struct vt_key place = vt_finding_context_place_key(a);
		struct vt_key equal = { a->common->made->python_stack, a->common->size_bytes, 1 };
		const uint64_t *replaced;

		if (a->common->device != context->device || !vt_allocation_is_owned(a) ||
		    !(vt_finding_context_is_owner(context, i,
						  VT_OWNERS_INPUTS | VT_OWNERS_KV_CACHE) ||
		      (has_results && context->unused_graph[i] == VT_BEHIND_ITS_PASS)))
			continue;
		replaced = vt_map_find(&next, place);
		replaced = replaced ? replaced : vt_map_find(&next, equal);
		if (replaced && (int64_t)*replaced < a->freed_event &&
		    is_torn_down(events, a->freed_event))
			vt_savings_add_between(savings, a, a->common->size_bytes,
					       (int64_t)*replaced + 1, VT_NEVER);
		vt_map_put(&next, place, (uint64_t)a->event);
		vt_map_put(&next, equal, (uint64_t)a->event);
	}
	vt_map_release(&next);
}

/* The same of what a function made of results: none of its variables is there in the next pass. */
static void relieve_results(struct vt_finding_context *context, const struct graphs *graphs,
			    const struct event_list *events, struct vt_savings *savings)
{
	for (size_t g = 0; g < graphs->items.len; g++) {
		const struct graph *graph = &graphs->items.items[g];

		for (uint32_t k = graph->first; k < graph->first + graph->nr; k++) {
			uint32_t i = graphs->blocks.items[k];
			const struct vt_allocation *a = &context->model->allocations[i];

			if (context->unused_graph[i] == VT_BEHIND_ITS_PASS &&
			    is_torn_down(events, a->freed_event))
				add_after(savings, a, graph->end_event);
		}
	}
}

static uint64_t lowered(const struct vt_finding_context *context, const struct vt_savings *savings)
{
	uint64_t peak = vt_savings_peak(savings, &context->allocated);

	return context->peak_bytes > peak ? context->peak_bytes - peak : 0;
}

static char *describe(const struct vt_finding_context *context, const struct graphs *graphs,
		      const struct vt_savings *likely, uint64_t saves, int is_known)
{
	const char *type = vt_model_text(context->model, graphs->items.items[0].pass->type);
	char all[VT_UNITS_MAX], most[VT_UNITS_MAX], *calls, *text;
	uint64_t bytes = 0;

	for (size_t i = 0; i < likely->len; i++)
		if (likely->items[i].from_event <= context->event &&
		    likely->items[i].allocation->freed_event > context->event)
			bytes += (uint64_t)likely->items[i].bytes;
	vt_units_bytes(all, sizeof(all), bytes);
	vt_units_bytes(most, sizeof(most), saves);
	calls = vt_xasprintf("%s at the peak, %zu call%s of %s", all, graphs->items.len,
			     graphs->items.len == 1 ? "" : "s", type ? type : "a module");
	if (is_known)
		return calls;
	text = vt_xasprintf("%s; up to %s less if no variable of the forward holds it", calls,
			    most);
	free(calls);
	return text;
}

void vt_find_graphs_detect(struct vt_finding_context *context)
{
	struct vt_savings likely = { 0 }, latest = { 0 };
	struct event_list events = { 0 };
	struct vt_graph_lifetimes lifetimes;
	struct graphs graphs = { 0 };
	uint64_t saves, least;

	find_graphs(context, &graphs);
	if (graphs.items.len) {
		uint32_t first = graphs.blocks.items[graphs.items.items[0].first];
		char *text;

		mark_blocks(context, &graphs);
		vt_graph_lifetimes_init(&lifetimes, context);
		relieve(context, &graphs, &lifetimes, &likely, &latest);
		vt_graph_lifetimes_release(&lifetimes);
		find_teardowns(context, &graphs, &events);
		relieve_kept_inputs(context, &events, &likely, 0);
		relieve_results(context, &graphs, &events, &likely);
		relieve_kept_inputs(context, &events, &latest, 1);
		saves = lowered(context, &likely);
		least = lowered(context, &latest);
		if ((double)saves - (double)least <= MOST_DOUBT * (double)saves) {
			text = describe(context, &graphs, &likely, saves, 1);
			vt_finding_context_add(context, VT_FINDING_GRAPH_UNUSED, &likely, first,
					       text);
		} else {
			text = describe(context, &graphs, &likely, saves, 0);
			vt_finding_context_add_least(context, VT_FINDING_GRAPH_UNUSED, &latest,
						     saves, first, text);
		}
	}
	vt_vector_release(&likely);
	vt_vector_release(&latest);
	vt_vector_release(&events);
	vt_vector_release(&graphs.items);
	vt_vector_release(&graphs.blocks);
	vt_map_release(&graphs.read_later);
	free(graphs.releasing);
}
