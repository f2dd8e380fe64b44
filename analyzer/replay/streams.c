/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/streams.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/replay/follow.h"

/* More better fits than this at one request are not looked at: they are the same few segments. */
#define MAX_PASSED_OVER 256

struct edge {
	uint32_t from;
	uint32_t to;
};

struct finding {
	struct vt_trace *trace;
	struct vt_map known;          /* edges seen */
	VT_VECTOR(struct edge) edges; /* both directions, sorted by `from` before colouring */
	uint32_t *first_edge;         /* by segment */
	uint8_t *is_coloured;
};

/* Whether the recording has one stream and one pool for both segments. */
static int are_alike(const struct finding *finding, uint32_t a, uint32_t b)
{
	const struct vt_trace_segment *x = &finding->trace->segments.items[a];
	const struct vt_trace_segment *y = &finding->trace->segments.items[b];

	return x->stream_id == y->stream_id && x->pool == y->pool;
}

static void differ(struct finding *finding, uint32_t a, uint32_t b)
{
	struct edge edge = { a, b };
	struct vt_key key = { .a = a < b ? a : b, .b = a < b ? b : a };

	if (a == b || !are_alike(finding, a, b) || vt_map_find(&finding->known, key))
		return;
	vt_map_put(&finding->known, key, 1);
	vt_vector_push(&finding->edges, edge);
	edge = (struct edge){ b, a };
	vt_vector_push(&finding->edges, edge);
}

/* Whether the allocator would have taken `piece` for the request, had it been its stream's. */
static int is_allowed(const struct vt_settings *settings, uint64_t size_bytes, uint64_t piece_bytes)
{
	if (size_bytes < settings->max_split_bytes)
		return piece_bytes < settings->max_split_bytes;
	return piece_bytes - size_bytes < settings->max_rounding_bytes;
}

/* What was free and fitted, up to what was chosen (NULL: a new segment was made instead). */
static void look_at_request(struct finding *finding, const struct vt_follow *follow,
			    const struct vt_trace_step *step, const struct vt_piece *chosen)
{
	uint32_t number = vt_trace_segment(finding->trace, step);
	const struct vt_trace_segment *own = &finding->trace->segments.items[number];
	const struct vt_pool *pool =
		vt_pools_half((struct vt_pools *)&follow->pools, 0, own->is_small);
	uint64_t size_bytes = vt_settings_round(&finding->trace->settings,
						vt_trace_bytes(finding->trace, step));
	struct vt_piece *piece = vt_free_set_from(&pool->free, 0, size_bytes, 0);

	for (unsigned i = 0; i < MAX_PASSED_OVER && piece && piece != chosen; i++) {
		if (!is_allowed(&finding->trace->settings, size_bytes, piece->size_bytes))
			return;
		differ(finding, number, piece->segment);
		piece = vt_free_set_next(piece);
	}
}

/* A request that an empty_cache() came before: it searched what that had left. */
static void look_after_changes(struct finding *finding, struct vt_follow *follow,
			       const struct vt_trace_step *step)
{
	struct vt_piece *chosen = step->op == VT_TRACE_TAKE ? vt_follow_place(follow, step) : NULL;
	int is_new = vt_follow_is_new(follow, step);

	if (chosen && is_new)
		vt_pools_remove(chosen);
	look_at_request(finding, follow, step, is_new ? NULL : chosen);
	if (chosen && is_new)
		vt_pools_insert(chosen);
}

static void gather(struct finding *finding)
{
	const struct vt_trace_step *step;
	struct vt_follow follow;

	vt_follow_init(&follow, finding->trace);
	while ((step = vt_follow_peek(&follow))) {
		int is_request = (step->op == VT_TRACE_TAKE || step->op == VT_TRACE_FAILED) &&
				 vt_trace_segment(finding->trace, step) != VT_NO_INDEX;
		int is_before = vt_follow_is_searched_before(&follow, step);

		if (is_request && is_before)
			look_at_request(finding, &follow, step, NULL);
		vt_follow_next(&follow);
		if (is_request && !is_before)
			look_after_changes(finding, &follow, step);
		vt_follow_make(&follow, step);
	}
	vt_follow_release(&follow);
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void sort_edges(struct finding *finding)
{
	size_t nr = finding->trace->segments.len;

	vt_vector_sort(&finding->edges, compare_edges);
	finding->first_edge = vt_xcalloc(nr + 2, sizeof(uint32_t));
	for (size_t i = 0; i < finding->edges.len; i++)
		finding->first_edge[finding->edges.items[i].from + 1]++;
	for (size_t i = 0; i < nr; i++)
		finding->first_edge[i + 1] += finding->first_edge[i];
}

/* The lowest number that no neighbour has. */
static uint32_t lowest_free(const struct finding *finding, uint32_t segment)
{
	for (uint32_t colour = 0;; colour++) {
		int is_taken = 0;

		for (uint32_t i = finding->first_edge[segment];
		     i < finding->first_edge[segment + 1] && !is_taken; i++) {
			uint32_t to = finding->edges.items[i].to;

			is_taken = finding->is_coloured[to] &&
				   finding->trace->segments.items[to].stream == colour;
		}
		if (!is_taken)
			return colour;
	}
}

/*
 * Breadth first from the oldest of each group: where two streams are enough to explain everything,
 * this finds two.
 */
static void colour_group(struct finding *finding, uint32_t first)
{
	VT_VECTOR(uint32_t) queue = { 0 };

	vt_vector_push(&queue, first);
	for (size_t at = 0; at < queue.len; at++) {
		uint32_t segment = queue.items[at];

		if (finding->is_coloured[segment])
			continue;
		finding->trace->segments.items[segment].stream = lowest_free(finding, segment);
		finding->is_coloured[segment] = 1;
		for (uint32_t i = finding->first_edge[segment];
		     i < finding->first_edge[segment + 1]; i++)
			vt_vector_push(&queue, finding->edges.items[i].to);
	}
	vt_vector_release(&queue);
}

/*
 * An expandable segment has address space for everything its stream could ever want: two of one
 * half at one time are two streams'.
 */
static void differ_if_expandable(struct finding *finding)
{
	const struct vt_trace *trace = finding->trace;

	for (uint32_t i = 0; i < trace->segments.len; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct vt_trace_segment *a = &trace->segments.items[i];
			const struct vt_trace_segment *b = &trace->segments.items[j];

			if (a->is_expandable && b->is_expandable && a->is_small == b->is_small &&
			    a->taken_event < b->given_event && b->taken_event < a->given_event)
				differ(finding, i, j);
		}
}

/* Numbers streams in the order in which they appear; the default one stays 0. */
static uint32_t number_streams(struct vt_trace *trace)
{
	struct vt_map numbers = { 0 };
	uint32_t nr;

	vt_map_put(&numbers, (struct vt_key){ 0 }, 0);
	for (size_t i = 0; i < trace->segments.len; i++) {
		struct vt_trace_segment *segment = &trace->segments.items[i];
		struct vt_key key = { .a = segment->stream_id, .b = segment->stream };
		const uint64_t *found = vt_map_find(&numbers, key);
		uint32_t number = found ? (uint32_t)*found : (uint32_t)numbers.len;

		if (!found)
			vt_map_put(&numbers, key, number);
		segment->stream = number;
	}
	nr = (uint32_t)numbers.len;
	vt_map_release(&numbers);
	return nr;
}

uint32_t vt_streams_take(struct vt_trace *trace)
{
	for (size_t i = 0; i < trace->segments.len; i++)
		trace->segments.items[i].stream = 0;
	return number_streams(trace);
}

uint32_t vt_streams_find(struct vt_trace *trace)
{
	struct finding finding = { .trace = trace };

	finding.is_coloured = vt_xcalloc(trace->segments.len + 1, 1);
	if (trace->settings.is_expandable)
		differ_if_expandable(&finding);
	else
		gather(&finding);
	sort_edges(&finding);
	for (uint32_t i = 0; i < trace->segments.len; i++)
		if (!finding.is_coloured[i])
			colour_group(&finding, i);
	vt_map_release(&finding.known);
	vt_vector_release(&finding.edges);
	free(finding.first_edge);
	free(finding.is_coloured);
	return number_streams(trace);
}
