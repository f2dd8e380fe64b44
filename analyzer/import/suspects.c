/* SPDX-License-Identifier: MIT */
#include "analyzer/import/suspects.h"

#include <stdlib.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"

void vt_suspects_add(struct vt_suspects *suspects, const struct vt_suspect *suspect)
{
	vt_vector_push(&suspects->items, *suspect);
}

static int compare(const void *a, const void *b)
{
	const struct vt_suspect *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

void vt_suspects_sort(struct vt_suspects *suspects)
{
	vt_vector_sort(&suspects->items, compare);
	for (size_t i = 0; i < suspects->items.len; i++) {
		struct vt_suspect *one = &suspects->items.items[i];

		one->reach = one->end_address;
		if (i && one[-1].class == one->class && one[-1].reach > one->reach)
			one->reach = one[-1].reach;
	}
}

void vt_suspects_clear(struct vt_suspects *suspects)
{
	suspects->items.len = 0;
}

void vt_suspects_release(struct vt_suspects *suspects)
{
	vt_vector_release(&suspects->items);
}

const struct vt_suspect *vt_suspects_at(const struct vt_suspects *suspects, uint64_t class,
					uint64_t address, uint64_t end_address, size_t *nr)
{
	const struct vt_suspect *all = suspects->items.items;
	size_t len = suspects->items.len, first, last;

	first = vt_search_first(i, len, all[i].class < class || (all[i].class == class &&
								 all[i].reach <= address));
	for (last = first; last < len; last++)
		if (all[last].class != class || all[last].address >= end_address)
			break;
	*nr = last - first;
	return *nr ? &all[first] : NULL;
}
