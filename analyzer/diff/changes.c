/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/changes.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/moves.h"
#include "analyzer/diff/places.h"

VT_VECTOR_DECLARE(change_list, struct vt_change);

/* new - base */
static int64_t delta_of(const struct vt_change *change)
{
	return (int64_t)(change->bytes[VT_DIFF_NEW] - change->bytes[VT_DIFF_BASE]);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* What must be equal for two entries to be one row; from the strictest on. */
static int compare_places_and_owners(const void *a, const void *b)
{
	const struct vt_entry *x = a, *y = b;
	int order = compare_numbers(x->place, y->place);

	if (!order)
		order = compare_texts(x->block->name, y->block->name);
	return order ? order : compare_texts(x->block->owner, y->block->owner);
}

static int compare_places(const void *a, const void *b)
{
	const struct vt_entry *x = a, *y = b;
	int order = compare_numbers(x->place, y->place);

	return order ? order : compare_texts(x->block->name, y->block->name);
}

typedef int (*compare_fn)(const void *a, const void *b);

static void add_to_change(struct vt_change *change, struct vt_entry *entry)
{
	const struct vt_changes_block *block = entry->block;
	uint8_t side = entry->side;

	change->bytes[side] += block->bytes;
	change->asked_bytes[side] += block->asked_bytes;
	change->blocks[side]++;
	if (!change->owner[side] || block->bytes > change->largest[side] ||
	    (block->bytes == change->largest[side] &&
	     block->allocation < change->allocation[side])) {
		change->owner[side] = block->owner;
		change->allocation[side] = block->allocation;
		change->largest[side] = block->bytes;
	}
	if (block->name && !change->name)
		change->name = vt_xstrdup(block->name);
	entry->is_taken = 1;
}

/* Entries that are equal in that sense become one row; with `is_pairing` only across the sides. */
static void join(struct vt_entries *all, struct change_list *changes, compare_fn compare,
		 int is_pairing)
{
	if (all->len)
		qsort(all->items, all->len, sizeof(*all->items), compare);
	for (size_t i = 0, end; i < all->len; i = end) {
		struct vt_change change = { .allocation = { VT_NO_INDEX, VT_NO_INDEX } };
		int is_there[VT_DIFF_SIDES] = { 0 };

		for (end = i; end < all->len && !compare(&all->items[i], &all->items[end]); end++)
			if (!all->items[end].is_taken)
				is_there[all->items[end].side] = 1;
		if (is_pairing ? !is_there[0] || !is_there[1] : !is_there[0] && !is_there[1])
			continue;
		for (size_t k = i; k < end; k++)
			if (!all->items[k].is_taken)
				add_to_change(&change, &all->items[k]);
		vt_vector_push(changes, change);
	}
}

static uint64_t magnitude(const struct vt_change *change)
{
	int64_t delta = delta_of(change);

	return delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
}

/* Equal ones: as they were made. */
static int compare_changes(const void *a, const void *b)
{
	const struct vt_change *x = a, *y = b;
	int order = compare_numbers(magnitude(y), magnitude(x));

	if (!order)
		order = compare_numbers(x->allocation[VT_DIFF_NEW], y->allocation[VT_DIFF_NEW]);
	if (!order)
		order = compare_numbers(x->allocation[VT_DIFF_BASE], y->allocation[VT_DIFF_BASE]);
	return order;
}

/* Rows of equal bytes are counted only. */
static void keep_differences(struct vt_changes *changes, struct change_list *all)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < all->len; i++) {
		if (delta_of(&all->items[i]))
			all->items[kept++] = all->items[i];
		else
			free(all->items[i].name);
	}
	changes->nr_equal = (uint32_t)all->len - kept;
	changes->items = all->items;
	changes->nr = kept;
	if (kept)
		qsort(changes->items, kept, sizeof(*changes->items), compare_changes);
}

void vt_changes_init(struct vt_changes *changes, const struct vt_changes_side *sides,
		     const struct vt_changes_live *const *live, enum vt_changes_by by,
		     int is_exact)
{
	struct vt_places places = { .sides = sides, .live = live };
	struct change_list found = { 0 };

	memset(changes, 0, sizeof(*changes));
	changes->by = by;
	if (by == VT_CHANGES_BY_STACK) {
		vt_places_init(&places, is_exact);
		vt_moves_init(&changes->moves, &places);
		join(&places.entries, &found, compare_places_and_owners, 1);
		join(&places.entries, &found, compare_places, 1);
		join(&places.entries, &found, compare_places_and_owners, 0);
	} else {
		vt_places_init_nowhere(&places);
		join(&places.entries, &found, compare_places, 0);
	}
	keep_differences(changes, &found);
	vt_places_release(&places);
}

void vt_changes_release(struct vt_changes *changes)
{
	for (uint32_t i = 0; i < changes->nr; i++)
		free(changes->items[i].name);
	free(changes->items);
	vt_moves_release(&changes->moves);
	memset(changes, 0, sizeof(*changes));
}
