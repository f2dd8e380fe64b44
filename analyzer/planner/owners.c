/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/owners.h"

#include <string.h>

#include "analyzer/base/sort.h"

static int compare(const void *a, const void *b)
{
	const struct vt_owner_sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static struct vt_owner_sum *sum_of(struct vt_owner_sums *sums, const char *owner)
{
	struct vt_owner_sum new = { .owner = owner };

	for (size_t i = 0; i < sums->len; i++)
		if (!strcmp(sums->items[i].owner, owner))
			return &sums->items[i];
	vt_vector_push(sums, new);
	return &sums->items[sums->len - 1];
}

void vt_owners_add(struct vt_owner_sums *sums, const char *owner, double bytes)
{
	sum_of(sums, owner)->bytes += bytes;
}

double vt_owners_find(const struct vt_owner_sums *sums, const char *owner)
{
	for (size_t i = 0; i < sums->len; i++)
		if (!strcmp(sums->items[i].owner, owner))
			return sums->items[i].bytes;
	return 0;
}

void vt_owners_sort(struct vt_owner_sums *sums)
{
	vt_vector_sort(sums, compare);
}

void vt_owners_of_stage(const struct vt_plan *plan, enum vt_plan_stage stage,
			struct vt_owner_sums *sums)
{
	for (size_t i = 0; i < plan->terms.len; i++) {
		const struct vt_term *term = &plan->terms.items[i];
		struct vt_owner_sum *sum;

		if (!(term->stages & 1u << stage))
			continue;
		sum = sum_of(sums, term->owner);
		sum->bytes += term->bytes;
		sum->low += term->low;
		sum->high += term->high;
	}
	vt_owners_sort(sums);
}
