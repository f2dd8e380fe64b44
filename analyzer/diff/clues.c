/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/clues.h"

#include <string.h>

#include "analyzer/base/hash.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct member {
	uint32_t group;
	uint32_t clue;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->group < y->group ? -1 : x->group > y->group;
}

static void init(struct vt_clue_set *set, const struct vt_clues *all, const struct member *members,
		 uint32_t nr)
{
	for (int level = 0; level < VT_NR_CLUE_LEVELS; level++) {
		uint64_t *list = vt_xmalloc(nr * sizeof(*list));
		uint32_t kept = 0;

		for (uint32_t i = 0; i < nr; i++)
			list[i] = all->items[members[i].clue].of[level];
		qsort(list, nr, sizeof(*list), compare);
		for (uint32_t i = 0; i < nr; i++)
			if (!i || list[i] != list[kept - 1])
				list[kept++] = list[i];
		set->of[level] = list;
		set->nr[level] = kept;
	}
	for (uint32_t i = 0; i < set->nr[VT_CLUE_EXACT]; i++)
		set->all = vt_hash_mix(set->all, set->of[VT_CLUE_EXACT][i]);
}

void vt_clue_sets_init(struct vt_clue_set *sets, const struct vt_clues *all, const uint32_t *groups)
{
	struct member *members = vt_xmalloc((all->len + 1) * sizeof(*members));
	size_t nr = 0;

	for (size_t i = 0; i < all->len; i++)
		if (groups[i] != VT_CLUE_NO_GROUP)
			members[nr++] = (struct member){ groups[i], (uint32_t)i };
	if (nr)
		qsort(members, nr, sizeof(*members), compare_members);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i; end < nr && members[end].group == members[i].group;)
			end++;
		init(&sets[members[i].group], all, &members[i], (uint32_t)(end - i));
	}
	free(members);
}

void vt_clue_set_release(struct vt_clue_set *set)
{
	for (int level = 0; level < VT_NR_CLUE_LEVELS; level++)
		free(set->of[level]);
}

double vt_clue_set_likeness(const struct vt_clue_set *a, const struct vt_clue_set *b,
			    enum vt_clue_level level)
{
	const uint64_t *x = a->of[level], *y = b->of[level];
	uint32_t nr_x = a->nr[level], nr_y = b->nr[level], i = 0, k = 0, shared = 0;

	while (i < nr_x && k < nr_y) {
		uint64_t of_x = x[i], of_y = y[k];

		shared += of_x == of_y;
		i += of_x <= of_y;
		k += of_y <= of_x;
	}
	return shared ? (double)shared / (double)(nr_x + nr_y - shared) : 0.0;
}
