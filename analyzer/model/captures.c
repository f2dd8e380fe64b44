/* SPDX-License-Identifier: MIT */
#include "analyzer/model/captures.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"
#include "analyzer/model/segments.h"

VT_VECTOR_DECLARE(captures, struct vt_capture);

/* Pools of snapshots beyond that are taken for the usual one: their files may be made up. */
#define MOST_CAPTURES 4096

/* A graph or an executable graph that is alive, and the capture it was made of. */
struct graph {
	uint64_t handle;
	uint32_t capture;
};
VT_VECTOR_DECLARE(graphs, struct graph);

/* By C5. */
struct bound {
	int64_t segment; /* event of the allocation */
	uint32_t capture;
};

struct search {
	struct captures captures;
	struct graphs alive;
	VT_VECTOR(struct bound) bound;
	struct vt_map pools; /* handle -> its capture */
};

static struct graph *find_graph(struct search *s, uint64_t handle)
{
	for (size_t i = s->alive.len; handle && i-- > 0;)
		if (s->alive.items[i].handle == handle)
			return &s->alive.items[i];
	return NULL;
}

static void begin(struct search *s, const struct vt_other_event *event)
{
	struct vt_capture capture = {
		.event = event->event,
		.end_event = VT_NEVER,
		.gone_event = VT_NEVER,
		/* The stream, until the capture has ended. */
		.graph = event->address,
		.thread = event->thread,
	};

	vt_vector_push(&s->captures, capture);
	s->captures.items[s->captures.len - 1].pool = (uint32_t)s->captures.len;
}

static void end(struct search *s, const struct vt_other_event *event)
{
	for (size_t i = s->captures.len; i-- > 0;) {
		struct vt_capture *capture = &s->captures.items[i];

		if (capture->end_event != VT_NEVER || capture->graph != event->address)
			continue;
		capture->end_event = event->event;
		capture->graph = event->extra;
		if (event->extra)
			vt_vector_push(&s->alive, ((struct graph){ event->extra, (uint32_t)i }));
		else
			capture->gone_event = event->event;
		return;
	}
}

static void instantiate(struct search *s, const struct vt_other_event *event)
{
	const struct graph *graph = find_graph(s, event->extra);

	if (graph)
		vt_vector_push(&s->alive, ((struct graph){ event->address, graph->capture }));
}

static void destroy(struct search *s, const struct vt_other_event *event)
{
	struct graph *graph = find_graph(s, event->address);
	uint32_t capture;

	if (!graph)
		return;
	capture = graph->capture;
	vt_map_remove(&s->pools, (struct vt_key){ event->address, 0, 0 });
	*graph = s->alive.items[--s->alive.len];
	for (size_t i = 0; i < s->alive.len; i++)
		if (s->alive.items[i].capture == capture)
			return;
	s->captures.items[capture].gone_event = event->event;
}

/* A pool without a capture is one of nobody, in which nothing was made. */
static void bind(struct search *s, const struct vt_other_event *event)
{
	const struct vt_capture capture = { .event = event->event,
					    .end_event = event->event,
					    .gone_event = VT_NEVER };
	struct vt_key key = { event->address, 0, 0 };
	const uint64_t *known = vt_map_find(&s->pools, key);
	uint32_t number = known ? (uint32_t)*known : (uint32_t)s->captures.len + 1;

	if (!known && s->captures.len >= MOST_CAPTURES)
		return;
	if (!known) {
		vt_map_put(&s->pools, key, number);
		vt_vector_push(&s->captures, capture);
		vt_vector_push(&s->alive, ((struct graph){ event->address, number - 1 }));
		s->captures.items[number - 1].pool = number;
	}
	vt_vector_push(&s->bound, ((struct bound){ (int64_t)event->extra, number }));
}

static void list_captures(struct vt_model *model, struct search *s)
{
	for (uint32_t i = 0; i < model->nr_events; i++) {
		const struct vt_other_event *event = &model->events[i];

		if (event->op == VT_OP_CAPTURE_BEGIN)
			begin(s, event);
		else if (event->op == VT_OP_CAPTURE_END)
			end(s, event);
		else if (event->op == VT_OP_INSTANTIATE)
			instantiate(s, event);
		else if ((event->op == VT_OP_DESTROY || event->op == VT_OP_UNBIND) &&
			 event->kind == VT_KIND_GRAPH)
			destroy(s, event);
		else if (event->op == VT_OP_BIND && event->kind == VT_KIND_GRAPH)
			bind(s, event);
	}
	for (size_t i = 0; i < s->captures.len; i++) {
		struct vt_capture *capture = &s->captures.items[i];

		capture->last_end = capture->end_event;
		if (i && capture[-1].last_end > capture->last_end)
			capture->last_end = capture[-1].last_end;
	}
	vt_vector_release(&s->alive);
	vt_map_release(&s->pools);
	model->captures = s->captures.items;
	model->nr_captures = (uint32_t)s->captures.len;
}

static uint32_t first_from(const struct vt_model *model, int64_t event)
{
	return vt_search_first(i, model->nr_captures, model->captures[i].event < event);
}

/* The number of the last capture that went on then; of that thread's, if given. */
static uint32_t capture_at(const struct vt_model *model, int64_t event, uint32_t thread)
{
	for (uint32_t i = first_from(model, event); i-- > 0;) {
		const struct vt_capture *capture = &model->captures[i];

		if (capture->last_end < event)
			break;
		if (capture->end_event > event && (!thread || capture->thread == thread))
			return i + 1;
	}
	return 0;
}

static uint32_t pool_of(const struct vt_model *model, uint32_t capture)
{
	while (model->captures[capture - 1].pool != capture)
		capture = model->captures[capture - 1].pool;
	return capture;
}

/* C3: both pools become the earlier one. */
static uint32_t join(struct vt_model *model, uint32_t a, uint32_t b)
{
	a = pool_of(model, a);
	b = pool_of(model, b);
	model->captures[a > b ? a - 1 : b - 1].pool = a < b ? a : b;
	return a < b ? a : b;
}

static int64_t event_of(const struct vt_model *model, const struct vt_segment *segment)
{
	return model->allocations[segment->allocation].event;
}

/* What the blocks say of the segment at that place in the list. */
struct witness {
	uint32_t capture; /* by C1 */
	uint8_t is_used_outside;
};

static void ask_block(struct vt_model *model, struct witness *witnesses, uint32_t allocation,
		      const struct vt_allocation *block)
{
	const struct vt_segment *segment = vt_segments_find(model, allocation);
	struct witness *witness = segment ? &witnesses[segment - model->segments] : NULL;
	uint32_t capture = capture_at(model, block->event, block->common->made->thread);

	if (!witness)
		return;
	if (capture && witness->capture)
		witness->capture = join(model, witness->capture, capture);
	else if (capture)
		witness->capture = capture;
	else if (!capture_at(model, block->event, 0))
		witness->is_used_outside = 1;
}

static void ask_blocks(struct vt_model *model, struct witness *witnesses)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->kind == VT_KIND_BLOCK && a->container != VT_NO_CONTAINER)
			ask_block(model, witnesses, a->container, a);
	}
	for (uint32_t i = 0; i < model->nr_spills; i++)
		ask_block(model, witnesses, model->spills[i].segment,
			  &model->allocations[model->spills[i].block]);
}

static void take_bound(struct vt_model *model, const struct search *s)
{
	for (size_t i = 0; i < s->bound.len; i++) {
		int64_t event = s->bound.items[i].segment;
		uint32_t at = vt_search_first(k, model->nr_segments,
					      event_of(model, &model->segments[k]) < event);

		if (at < model->nr_segments && event_of(model, &model->segments[at]) == event)
			model->segments[at].capture = s->bound.items[i].capture;
	}
}

static void find_gone(struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_captures; i++) {
		struct vt_capture *first = &model->captures[pool_of(model, i + 1) - 1];

		if (model->captures[i].gone_event > first->pool_gone_event)
			first->pool_gone_event = model->captures[i].gone_event;
	}
}

void vt_captures_find(struct vt_model *model)
{
	struct search s = { 0 };
	struct witness *witnesses;

	list_captures(model, &s);
	if (!model->nr_captures)
		return;
	witnesses = vt_xcalloc(model->nr_segments + 1, sizeof(*witnesses));
	ask_blocks(model, witnesses);
	for (uint32_t i = 0; i < model->nr_segments; i++) {
		struct vt_segment *segment = &model->segments[i];

		segment->capture = witnesses[i].capture;
		if (!segment->capture && !witnesses[i].is_used_outside)
			segment->capture = capture_at(
				model, model->allocations[segment->allocation].event, 0);
		if (segment->capture)
			segment->capture = pool_of(model, segment->capture);
	}
	free(witnesses);
	take_bound(model, &s);
	find_gone(model);
	vt_vector_release(&s.bound);
}

int64_t vt_captures_pool_gone(const struct vt_model *model, uint32_t pool)
{
	return model->captures[pool - 1].pool_gone_event;
}

int vt_captures_is_private(const struct vt_model *model, const struct vt_segment *segment,
			   int64_t event)
{
	return segment->capture && vt_captures_pool_gone(model, segment->capture) > event;
}
