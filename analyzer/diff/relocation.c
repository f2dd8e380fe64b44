/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/relocation.h"

#include <stdlib.h>

/* What must be equal for two blocks to be counterparts; bits, from what is sorted by first. */
enum {
	BY_PLACE = 1,
	BY_FUNCTIONS = 2,
	BY_BYTES = 4,
	IS_FOREIGN = 8,
	HAS_MODULE = 16,
	BY_PART = 32,
	BY_LINE = 64
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare(const struct vt_entry *x, const struct vt_entry *y, int by)
{
	int order =
		compare_numbers(by & BY_PART ? x->part : x->kind, by & BY_PART ? y->part : y->kind);

	if (!order && (by & BY_PLACE))
		order = compare_numbers(x->place, y->place);
	if (!order && (by & BY_FUNCTIONS))
		order = compare_numbers(x->functions, y->functions);
	if (!order && (by & BY_LINE))
		order = compare_numbers(x->line, y->line);
	if (!order && (by & BY_BYTES))
		order = compare_numbers(x->bytes, y->bytes);
	return order;
}

/* Foreign ones first: they are the ones that need a counterpart. */
static int compare_rows(const void *a, const void *b, void *by)
{
	const struct vt_entry *x = a, *y = b;
	int order = compare(x, y, *(int *)by);

	if (!order)
		order = (int)x->is_settled - (int)y->is_settled;
	if (!order)
		order = (int)x->side - (int)y->side;
	if (!order)
		order = (int)y->is_foreign - (int)x->is_foreign;
	return order ? order : compare_numbers(x->order, y->order);
}

static void settle(struct vt_entry *base, struct vt_entry *new)
{
	base->is_settled = new->is_settled = 1;
	if (base->place == new->place)
		return;
	base->is_moved = base->functions != new->functions;
	base->moved_with = new->block;
	base->place = new->place;
	base->functions = new->functions;
}

/* Entries that are equal in that sense, those of the base first. */
static void pair(struct vt_entry *entries, size_t nr, int by)
{
	size_t nr_base = 0, nr_open = 0;

	while (nr_open < nr && !entries[nr_open].is_settled)
		nr_base += entries[nr_open++].side == 0;
	for (size_t i = 0, k = nr_base; i < nr_base && k < nr_open; i++, k++) {
		if ((by & IS_FOREIGN) && !entries[i].is_foreign && !entries[k].is_foreign)
			return;
		if ((by & HAS_MODULE) && !entries[i].has_module)
			return;
		settle(&entries[i], &entries[k]);
	}
}

void vt_relocation_find(struct vt_entry *entries, size_t nr)
{
	static const int passes[] = {
		BY_PLACE | BY_BYTES,
		BY_PLACE,
		BY_PART | BY_PLACE | BY_BYTES,
		BY_FUNCTIONS | BY_BYTES,
		/* The first call of a kind goes through what sets the library up. */
		BY_PART | BY_FUNCTIONS | BY_BYTES,
		IS_FOREIGN | BY_BYTES | BY_LINE,
		IS_FOREIGN | BY_BYTES,
		BY_FUNCTIONS | HAS_MODULE,
		IS_FOREIGN,
	};

	for (size_t p = 0; p < sizeof(passes) / sizeof(passes[0]) && nr; p++) {
		int by = passes[p];

		qsort_r(entries, nr, sizeof(*entries), compare_rows, &by);
		for (size_t i = 0, end; i < nr; i = end) {
			for (end = i; end < nr && !compare(&entries[i], &entries[end], by);)
				end++;
			pair(&entries[i], end - i, by);
		}
	}
}
