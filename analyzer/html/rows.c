/* SPDX-License-Identifier: MIT */
#include "analyzer/html/rows.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/model/lifetimes.h"

#define MOST_ROWS      40000
#define MOST_LIFETIMES 12000

static int compare_descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x != y ? (x > y ? -1 : 1) : 0;
}

/* The size from which on there are few enough blocks. */
static void find_least(struct vt_page_rows *rows, const uint8_t *is_live,
		       const struct vt_model *model)
{
	VT_VECTOR(uint64_t) sizes = { 0 };

	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (is_live[i] && !model->allocations[i].holds_blocks)
			vt_vector_push(&sizes, model->allocations[i].common->size_bytes);
	if (sizes.len > MOST_ROWS) {
		vt_vector_sort(&sizes, compare_descending);
		rows->least_bytes = sizes.items[MOST_ROWS - 1] + 1;
	}
	vt_vector_release(&sizes);
}

static int has_lifetime(uint32_t allocation, const void *model)
{
	return vt_allocation_is_owned(
		&((const struct vt_model *)model)->allocations[allocation]);
}

/* Marks the blocks of the largest areas with 2. */
static void find_lifetimes(struct vt_page_rows *rows, uint8_t *marks, const struct vt_model *model)
{
	double least = vt_lifetimes_least(model, MOST_LIFETIMES, has_lifetime, model);

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		double area = vt_lifetimes_area(model, &model->allocations[i]);

		if (!has_lifetime(i, model))
			continue;
		rows->area += area;
		rows->nr_blocks++;
		if (area < least)
			continue;
		marks[i] |= 2;
		rows->nr_lifetimes++;
		rows->lifetime_area += area;
	}
}

static int is_row(const struct vt_page_rows *rows, const struct vt_allocation *a)
{
	return a->holds_blocks || a->common->size_bytes >= rows->least_bytes;
}

/* Adds up what a moment has below the least size. */
static void add_rest(struct vt_page_rows *rows, uint32_t moment, struct vt_page_stacks *stacks)
{
	struct vt_analysis *analysis = rows->moments->analysis;
	const struct vt_page_moment *at = &rows->moments->all.items[moment];
	struct vt_map known = { 0 };

	for (size_t i = 0; i < at->live.len; i++) {
		const struct vt_allocation *a = &analysis->model.allocations[at->live.items[i]];
		struct vt_page_rest rest = { .moment = moment,
					     .bytes = a->common->size_bytes,
					     .blocks = 1 };
		struct vt_key key;
		const uint64_t *found;

		if (is_row(rows, a) || !vt_allocation_is_owned(a))
			continue;
		rest.owner = vt_attribution_judge(&analysis->attribution, at->live.items[i]).owner;
		rest.python = vt_page_stacks_python(stacks, a);
		rest.native = vt_page_stacks_native(stacks, a);
		key = (struct vt_key){ rest.owner, rest.python, rest.native };
		found = vt_map_find(&known, key);
		if (found) {
			rows->rest.items[*found].bytes += rest.bytes;
			rows->rest.items[*found].blocks++;
			continue;
		}
		vt_map_put(&known, key, rows->rest.len);
		vt_vector_push(&rows->rest, rest);
	}
	vt_map_release(&known);
}

void vt_page_rows_init(struct vt_page_rows *rows, const struct vt_page_moments *moments,
		       struct vt_page_stacks *stacks)
{
	const struct vt_model *model = &moments->analysis->model;
	uint8_t *marks = vt_xcalloc((size_t)model->nr_allocations + 1, 1);

	memset(rows, 0, sizeof(*rows));
	rows->moments = moments;
	for (size_t m = 0; m < moments->all.len; m++)
		for (size_t i = 0; i < moments->all.items[m].live.len; i++)
			marks[moments->all.items[m].live.items[i]] = 1;
	find_least(rows, marks, model);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (marks[i] && !is_row(rows, &model->allocations[i]))
			marks[i] = 0;
	find_lifetimes(rows, marks, model);
	rows->is_lifetime = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (marks[i]) {
			rows->is_lifetime[rows->all.len] = marks[i] >> 1;
			vt_vector_push(&rows->all, i);
		}
	for (uint32_t m = 0; rows->least_bytes && m < moments->all.len; m++)
		add_rest(rows, m, stacks);
	free(marks);
}

void vt_page_rows_release(struct vt_page_rows *rows)
{
	vt_vector_release(&rows->all);
	vt_vector_release(&rows->rest);
	free(rows->is_lifetime);
}
