/* SPDX-License-Identifier: MIT */
#include "analyzer/report/hotspots.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/site.h"

static int compare_places(const void *a, const void *b)
{
	const struct vt_hotspot *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static int is_older(const struct vt_allocation *a, const struct vt_allocation *than)
{
	if (a->common->made->python_stack != than->common->made->python_stack)
		return a->common->made->python_stack < than->common->made->python_stack;
	return a->common->made->native_stack < than->common->made->native_stack;
}

/* Equal sizes: by stack, so that the order does not depend on the sort. */
static int compare_bytes(const void *a, const void *b)
{
	const struct vt_hotspot *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (is_older(x->first, y->first) || is_older(y->first, x->first))
		return is_older(x->first, y->first) ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void join(void *into, void *from)
{
	struct vt_hotspot *last = into;
	const struct vt_hotspot *item = from;

	last->bytes += item->bytes;
	last->blocks += item->blocks;
	if (is_older(item->first, last->first))
		last->first = item->first;
}

void vt_hotspots_init(struct vt_hotspots *hotspots, struct vt_attribution *attribution,
		      const struct vt_describe *describe, int device, int64_t event)
{
	const struct vt_model *model = attribution->facts->model;
	VT_VECTOR(struct vt_hotspot) all = { 0 };

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_hotspot one = { .bytes = a->common->size_bytes, .blocks = 1, .first = a };

		if (a->common->device != device || !vt_allocation_is_live(a, event) ||
		    !vt_allocation_is_owned(a))
			continue;
		one.place = vt_site_of(describe, a);
		one.owner = vt_attribution_judge(attribution, i).owner;
		vt_vector_push(&all, one);
	}
	hotspots->items = all.items;
	hotspots->nr = (uint32_t)vt_group(all.items, all.len, compare_places, join);
	vt_sort(hotspots->items, hotspots->nr, compare_bytes);
}

void vt_hotspots_release(struct vt_hotspots *hotspots)
{
	free(hotspots->items);
	memset(hotspots, 0, sizeof(*hotspots));
}
