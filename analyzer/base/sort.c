/* SPDX-License-Identifier: MIT */
/*
 * sort.c - runs that are there are found first, then merged as they come: two of nearly one length
 * at a time, so that nr items take nr * log2(nr) comparisons at most.  Two that follow each other
 * need none.
 */
#include "analyzer/base/sort.h"

#include <stdint.h>
#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/* A shorter run is made longer item by item: to merge it costs more. */
#define SHORT_RUN 12

/* Each is longer by a power of two than the next, except for the last two. */
#define MOST_RUNS 66

struct sorting {
	char *items;
	size_t item_size;
	vt_compare_fn compare;
	char *spare;            /* half of the items, or one */
	size_t runs[MOST_RUNS]; /* where each ends */
	unsigned int nr_runs;
};

static char *at(const struct sorting *sorting, size_t index)
{
	return sorting->items + index * sorting->item_size;
}

static int is_before(const struct sorting *sorting, const void *a, const void *b)
{
	return sorting->compare(a, b) < 0;
}

static void copy(char *to, const char *from, size_t size)
{
	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
		memcpy(to, from, sizeof(uint64_t));
		to += sizeof(uint64_t);
		from += sizeof(uint64_t);
	}
	if (size)
		memcpy(to, from, size);
}

static void reverse(struct sorting *sorting, size_t first, size_t end)
{
	for (; first + 1 < end; first++, end--) {
		copy(sorting->spare, at(sorting, first), sorting->item_size);
		copy(at(sorting, first), at(sorting, end - 1), sorting->item_size);
		copy(at(sorting, end - 1), sorting->spare, sorting->item_size);
	}
}

/* Puts the item at `next` into the run that ends there. */
static void insert(struct sorting *sorting, size_t first, size_t next)
{
	size_t place = first + vt_search_first(i, next - first,
					       !is_before(sorting, at(sorting, next),
							  at(sorting, first + i)));

	copy(sorting->spare, at(sorting, next), sorting->item_size);
	memmove(at(sorting, place + 1), at(sorting, place), (next - place) * sorting->item_size);
	copy(at(sorting, place), sorting->spare, sorting->item_size);
}

/* Returns where the run ends that begins at `first`, of items up to `nr`. */
static size_t find_run(struct sorting *sorting, size_t first, size_t nr)
{
	size_t end = first + 1;
	int is_down = end < nr && is_before(sorting, at(sorting, end), at(sorting, first));

	while (end < nr && is_before(sorting, at(sorting, end), at(sorting, end - 1)) == is_down)
		end++;
	if (is_down)
		reverse(sorting, first, end);
	for (; end < nr && end < first + SHORT_RUN; end++)
		insert(sorting, first, end);
	return end;
}

/* The left run is in the spare room, and there is room for it before the right one. */
static void merge_up(struct sorting *sorting, size_t first, size_t middle, size_t end)
{
	const size_t size = sorting->item_size;
	char *to = at(sorting, first), *right = at(sorting, middle);
	const char *left = sorting->spare, *left_end = left + (middle - first) * size;
	const char *right_end = at(sorting, end);

	memcpy(sorting->spare, to, (middle - first) * size);
	for (; left < left_end && right < right_end; to += size) {
		if (is_before(sorting, right, left)) {
			copy(to, right, size);
			right += size;
		} else {
			copy(to, left, size);
			left += size;
		}
	}
	memcpy(to, left, (size_t)(left_end - left));
}

/* The same from the last items down, with the right run in the spare room. */
static void merge_down(struct sorting *sorting, size_t first, size_t middle, size_t end)
{
	const size_t size = sorting->item_size;
	char *to = at(sorting, end), *left = at(sorting, middle);
	const char *right = sorting->spare + (end - middle) * size;
	char *left_end = at(sorting, first);

	memcpy(sorting->spare, left, (end - middle) * size);
	while (left > left_end && right > sorting->spare) {
		to -= size;
		if (is_before(sorting, right - size, left - size)) {
			left -= size;
			copy(to, left, size);
		} else {
			right -= size;
			copy(to, right, size);
		}
	}
	memcpy(left_end, sorting->spare, (size_t)(right - sorting->spare));
}

/* What is in its place already is left out. */
static void merge(struct sorting *sorting, size_t first, size_t middle, size_t end)
{
	const char *last = at(sorting, middle - 1);

	if (!is_before(sorting, at(sorting, middle), last))
		return;
	first += vt_search_first(i, middle - first,
				 !is_before(sorting, at(sorting, middle), at(sorting, first + i)));
	end = middle +
	      vt_search_first(i, end - middle, is_before(sorting, at(sorting, middle + i), last));
	if (middle - first <= end - middle)
		merge_up(sorting, first, middle, end);
	else
		merge_down(sorting, first, middle, end);
}

/* Where the run begins that is `back` before the last one. */
static size_t beginning(const struct sorting *sorting, unsigned int back)
{
	return sorting->nr_runs > back + 1 ? sorting->runs[sorting->nr_runs - back - 2] : 0;
}

static int log_of(size_t nr)
{
	return 63 - __builtin_clzll(nr);
}

static void merge_last(struct sorting *sorting)
{
	size_t end = sorting->runs[sorting->nr_runs - 1], middle = beginning(sorting, 0);

	merge(sorting, beginning(sorting, 1), middle, end);
	sorting->nr_runs--;
	sorting->runs[sorting->nr_runs - 1] = end;
}

static int is_last_short(const struct sorting *sorting)
{
	size_t middle = beginning(sorting, 0);

	return sorting->nr_runs > 1 && log_of(middle - beginning(sorting, 1)) >
					       log_of(sorting->runs[sorting->nr_runs - 1] - middle);
}

void vt_sort_items(void *items, size_t nr, size_t item_size, vt_compare_fn compare)
{
	struct sorting sorting = { .items = items, .item_size = item_size, .compare = compare };

	if (nr < 2)
		return;
	sorting.spare = vt_xmalloc((nr / 2 + 1) * item_size);
	for (size_t end = 0; end < nr;) {
		end = find_run(&sorting, end, nr);
		sorting.runs[sorting.nr_runs++] = end;
		while (sorting.nr_runs > 1 && !is_last_short(&sorting))
			merge_last(&sorting);
	}
	while (sorting.nr_runs > 1)
		merge_last(&sorting);
	free(sorting.spare);
}

size_t vt_group_items(void *items, size_t nr, size_t item_size, vt_compare_fn compare,
		      void (*join)(void *into, void *from))
{
	char *last = items, *end = last + nr * item_size;

	if (!nr)
		return 0;
	vt_sort_items(items, nr, item_size, compare);
	for (char *item = last + item_size; item < end; item += item_size) {
		if (compare(last, item))
			memmove(last += item_size, item, item_size);
		else if (join)
			join(last, item);
	}
	return (size_t)(last - (char *)items) / item_size + 1;
}
