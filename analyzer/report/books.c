/* SPDX-License-Identifier: MIT */
#include "analyzer/report/books.h"

#include <string.h>

#include "analyzer/base/util.h"

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct vt_books_line *)a)->owner,
		      ((const struct vt_books_line *)b)->owner);
}

/* The line of an owner; lines are by number of the owner while they are filled. */
static void add_to_owner(struct vt_books *books, const struct vt_attribution *attribution,
			 struct vt_verdict verdict, uint64_t bytes)
{
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
	if (kept)
		qsort(books->lines, kept, sizeof(*books->lines), compare_lines);
}

static void close_books(struct vt_books *books, const struct vt_model *model, uint64_t owned,
			uint64_t cached_blocks)
{
	const struct vt_device *device = vt_model_device(model, books->device);
	const struct vt_peak *peak = vt_model_peak(model, books->device);

	/* The importer counted the peak on its own: where we look at it, we compare. */
	if (peak && peak->event == books->event)
		books->used_bytes = peak->used_bytes;
	if (books->reserved_bytes > cached_blocks)
		books->cached_bytes = books->reserved_bytes - cached_blocks;
	books->difference_bytes = (int64_t)(books->used_bytes - owned - books->cached_bytes);
	if (device && device->has_context) {
		books->has_context = 1;
		books->context_bytes = device->context_bytes;
	}
}

void vt_books_init(struct vt_books *books, struct vt_attribution *attribution, int device,
		   int64_t event)
{
	const struct vt_model *model = attribution->facts->model;
	uint64_t owned = 0, cached_blocks = 0;

	memset(books, 0, sizeof(*books));
	books->event = event;
	books->device = device;
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->device != device || !vt_allocation_is_live(a, event))
			continue;
		if (vt_allocation_is_driver(a))
			books->used_bytes += a->size_bytes;
		if (vt_allocation_is_driver(a) && a->holds_blocks)
			books->reserved_bytes += a->size_bytes;
		if (a->kind == VT_KIND_BLOCK)
			books->allocated_bytes += a->size_bytes;
		if (a->kind == VT_KIND_BLOCK && a->container != VT_NO_INDEX)
			cached_blocks += a->size_bytes;
		if (!vt_allocation_is_owned(a))
			continue;
		owned += a->size_bytes;
		add_to_owner(books, attribution, vt_attribution_judge(attribution, i),
			     a->size_bytes);
	}
	drop_empty_lines(books);
	close_books(books, model, owned, cached_blocks);
}

void vt_books_release(struct vt_books *books)
{
	free(books->lines);
	memset(books, 0, sizeof(*books));
}

uint64_t vt_books_device_used(const struct vt_books *books)
{
	return books->used_bytes + (books->has_context ? books->context_bytes : 0);
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
