/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SORT_H
#define VT_ANALYZER_SORT_H

/*
 * A stable merge sort that uses the runs it finds: lists made in the order of events are mostly in
 * order, or in order backwards, as the nodes of a backward pass are.  Those take about one
 * comparison an item, where qsort() takes log2(nr).
 */

#include <stddef.h>

typedef int (*vt_compare_fn)(const void *a, const void *b);

/* `items` may be NULL where there are none; `compare` as qsort's. */
void vt_sort_items(void *items, size_t nr, size_t item_size, vt_compare_fn compare);

#define vt_sort(items, nr, compare) vt_sort_items((items), (nr), sizeof(*(items)), (compare))
#define vt_vector_sort(v, compare)  vt_sort((v)->items, (v)->len, compare)

/*
 * Sorts, then joins what compares equal: `join` adds the second to the first and releases what it
 * holds; NULL: the first is kept.  Returns how many are left.
 */
#define vt_group(items, nr, compare, join)                                                         \
	vt_group_items((items), (nr), sizeof(*(items)), (compare), (join))
size_t vt_group_items(void *items, size_t nr, size_t item_size, vt_compare_fn compare,
		      void (*join)(void *into, void *from));

#endif
