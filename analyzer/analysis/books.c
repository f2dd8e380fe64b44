/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/books.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/captures.h"
#include "analyzer/model/idle_pools.h"
#include "analyzer/model/samples.h"
#include "analyzer/model/segments.h"

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct vt_books_line *)a)->owner,
		      ((const struct vt_books_line *)b)->owner);
}

/* The line of an owner; lines are by number of the owner while they are filled. */
static void add_to_owner(struct vt_books *books, const struct vt_attribution *attribution,
			 struct vt_verdict verdict, const struct vt_allocation *a)
{
	uint64_t bytes = a->common->size_bytes;
	struct vt_books_line *line;
	uint32_t wanted = verdict.owner + 1;

	if (wanted > books->nr_lines) {
		books->lines = vt_xrealloc(books->lines, wanted * sizeof(*books->lines));
		memset(books->lines + books->nr_lines, 0,
		       (wanted - books->nr_lines) * sizeof(*books->lines));
		books->nr_lines = wanted;
	}
	line = &books->lines[verdict.owner];
	line->owner = vt_attribution_owner(attribution, verdict.owner);
	line->bytes += bytes;
	line->requested_bytes += vt_allocation_asked_bytes(a);
	line->blocks++;
	line->provenance[verdict.provenance] += bytes;
	line->trained_bytes += verdict.training == VT_TRAINING_TRAINED ? bytes : 0;
	line->frozen_bytes += verdict.training == VT_TRAINING_FROZEN ? bytes : 0;
}

static void drop_empty_lines(struct vt_books *books)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < books->nr_lines; i++)
		if (books->lines[i].blocks)
			books->lines[kept++] = books->lines[i];
	books->nr_lines = kept;
	vt_sort(books->lines, kept, compare_lines);
}

#define TEXT(name, text) text,
const char *const vt_rest_owners[VT_NR_REST_OWNERS] = { VT_BOOKS_REST_OWNERS(TEXT) };

static struct vt_books_rest *add_rest(struct vt_books *books, uint64_t bytes,
				      enum vt_rest_owner owner)
{
	struct vt_books_rest *rest;

	books->rest = vt_xrealloc(books->rest, (books->nr_rest + 1) * sizeof(*books->rest));
	rest = &books->rest[books->nr_rest++];
	rest->bytes = bytes;
	snprintf(rest->owner, sizeof(rest->owner), "%s", vt_rest_owners[owner]);
	return rest;
}

/* Free bytes per capture, in the order of the captures. */
static void add_graph_pools(struct vt_books *books, const struct vt_model *model,
			    const uint64_t *free_bytes)
{
	uint64_t *pools = vt_xcalloc(model->nr_captures + 1, sizeof(*pools));

	for (uint32_t i = 0; i < model->nr_segments; i++)
		if (model->segments[i].capture)
			pools[model->segments[i].capture - 1] += free_bytes[i];
	for (uint32_t i = 0; i < model->nr_captures; i++)
		if (pools[i]) {
			struct vt_books_rest *rest = add_rest(books, pools[i], VT_REST_GRAPH_POOLS);

			snprintf(rest->owner, sizeof(rest->owner), "%s/%u",
				 vt_rest_owners[VT_REST_GRAPH_POOLS], i + 1);
		}
	free(pools);
}

/* What the driver's own pools keep for later. */
static void add_idle_pools(struct vt_books *books, const struct vt_model *model)
{
	struct vt_idle idle = vt_idle_pools_at(model, books->device, books->event);

	books->idle_pool_bytes = idle.pool_bytes;
	books->idle_graph_bytes = idle.graph_bytes;
	books->used_bytes += idle.pool_bytes + idle.graph_bytes;
	if (idle.pool_bytes)
		add_rest(books, idle.pool_bytes, VT_REST_POOL);
	if (idle.graph_bytes)
		add_rest(books, idle.graph_bytes, VT_REST_GRAPH_MEMORY);
}

/* What the blocks leave of every segment; `held` becomes what is free. */
static void share_out_free_bytes(struct vt_books *books, const struct vt_model *model,
				 uint64_t *held)
{
	for (uint32_t i = 0; i < model->nr_segments; i++) {
		const struct vt_segment *segment = &model->segments[i];
		const struct vt_allocation *a = &model->allocations[segment->allocation];
		int is_there = a->common->device == books->device &&
			       vt_allocation_is_live(a, books->event);
		uint64_t free_bytes = is_there && a->common->size_bytes > held[i]
					      ? a->common->size_bytes - held[i]
					      : 0;

		if (vt_captures_is_private(model, segment, books->event))
			books->graph_pool_bytes += free_bytes;
		else if (held[i])
			books->pinned_bytes += free_bytes;
		else
			books->free_segment_bytes += free_bytes;
		held[i] = vt_captures_is_private(model, segment, books->event) ? free_bytes : 0;
	}
	add_rest(books, books->free_segment_bytes, VT_REST_FREE_SEGMENTS);
	add_rest(books, books->pinned_bytes, VT_REST_PINNED);
	add_idle_pools(books, model);
	books->cached_bytes = books->free_segment_bytes + books->pinned_bytes +
			      books->idle_pool_bytes + books->idle_graph_bytes;
	add_graph_pools(books, model, held);
}

static void close_books(struct vt_books *books, const struct vt_model *model, uint64_t owned)
{
	const struct vt_peak *peak = vt_model_peak(model, books->device);

	/* The importer counted the peak on its own: where we look at it, we compare. */
	if (peak && peak->event == books->event)
		books->used_bytes = peak->used_bytes;
	books->difference_bytes = (int64_t)(books->used_bytes - owned - books->cached_bytes -
					    books->graph_pool_bytes);
}

/* What is in use without an allocation that was recorded. */
static void add_outside(struct vt_books *books, const struct vt_model *model, int64_t time_ns)
{
	struct vt_outside outside = vt_samples_at(model, books->device, time_ns);

	books->rounding_bytes = outside.rounding_bytes;
	books->unseen_bytes = outside.difference_bytes;
	books->difference_bytes += outside.difference_bytes;
	books->has_context = outside.has_context;
	books->context_bytes = outside.context_bytes;
	books->has_other = outside.has_other;
	books->other_bytes = outside.other_bytes;
	if (books->rounding_bytes)
		add_rest(books, books->rounding_bytes, VT_REST_UNFILLED_PAGES);
	if (books->has_context)
		add_rest(books, books->context_bytes, VT_REST_CONTEXT);
	if (books->has_other)
		add_rest(books, books->other_bytes, VT_REST_OTHER_PROCESSES);
}

/* What the books are made of while allocations are added. */
struct adding {
	struct vt_books *books;
	struct vt_attribution *attribution;
	uint64_t *held; /* by segment */
	uint64_t owned;
};

static void begin_books(struct adding *adding, struct vt_books *books,
			struct vt_attribution *attribution, int device, int64_t event)
{
	const struct vt_model *model = attribution->facts->model;

	memset(books, 0, sizeof(*books));
	books->event = event;
	books->device = device;
	*adding = (struct adding){ .books = books, .attribution = attribution };
	adding->held = vt_xcalloc(model->nr_segments + 1, sizeof(*adding->held));
}

static void add_allocation(struct adding *adding, uint32_t index)
{
	const struct vt_model *model = adding->attribution->facts->model;
	const struct vt_allocation *a = &model->allocations[index];
	struct vt_books *books = adding->books;

	if (!vt_allocation_is_live(a, books->event) || a->common->device != books->device)
		return;
	if (vt_allocation_is_driver(a))
		books->used_bytes += a->common->size_bytes;
	if (vt_allocation_is_driver(a) && a->holds_blocks)
		books->reserved_bytes += a->common->size_bytes;
	if (a->common->kind == VT_KIND_BLOCK) {
		books->allocated_bytes += a->common->size_bytes;
		books->requested_bytes += vt_allocation_asked_bytes(a);
		vt_segments_hold(model, adding->held, index);
	}
	if (!vt_allocation_is_owned(a))
		return;
	adding->owned += a->common->size_bytes;
	add_to_owner(books, adding->attribution,
		     vt_attribution_judge(adding->attribution, index), a);
}

static void end_books(struct adding *adding)
{
	struct vt_books *books = adding->books;
	const struct vt_model *model = adding->attribution->facts->model;

	drop_empty_lines(books);
	share_out_free_bytes(books, model, adding->held);
	close_books(books, model, adding->owned);
	add_outside(books, model,
		    vt_timeline_time(adding->attribution->facts->stages->timeline, books->event));
	free(adding->held);
}

void vt_books_init(struct vt_books *books, struct vt_attribution *attribution, int device,
		   int64_t event)
{
	const struct vt_model *model = attribution->facts->model;
	struct adding adding;

	begin_books(&adding, books, attribution, device, event);
	for (uint32_t i = 0; i < model->nr_allocations && model->allocations[i].event <= event; i++)
		add_allocation(&adding, i);
	end_books(&adding);
}

void vt_books_init_of(struct vt_books *books, struct vt_attribution *attribution, int device,
		      int64_t event, const uint32_t *live, uint32_t nr_live)
{
	struct adding adding;

	begin_books(&adding, books, attribution, device, event);
	for (uint32_t i = 0; i < nr_live; i++)
		add_allocation(&adding, live[i]);
	end_books(&adding);
}

void vt_books_release(struct vt_books *books)
{
	free(books->lines);
	free(books->rest);
	memset(books, 0, sizeof(*books));
}

uint64_t vt_books_device_used(const struct vt_books *books)
{
	return books->used_bytes + books->rounding_bytes + books->context_bytes +
	       books->other_bytes + (uint64_t)books->unseen_bytes;
}

uint64_t vt_books_process_used(const struct vt_books *books)
{
	return vt_books_device_used(books) - books->other_bytes;
}

uint64_t vt_books_provenance(const struct vt_books *books, uint64_t *bytes)
{
	uint64_t sum = 0;

	memset(bytes, 0, VT_NR_PROVENANCES * sizeof(*bytes));
	for (uint32_t i = 0; i < books->nr_lines; i++)
		for (unsigned p = 0; p < VT_NR_PROVENANCES; p++) {
			bytes[p] += books->lines[i].provenance[p];
			sum += books->lines[i].provenance[p];
		}
	return sum;
}
