/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/leftovers.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/site.h"
#include "analyzer/model/when.h"

const char *const vt_leftovers_on_purpose[VT_LEFTOVERS_NR_ON_PURPOSE] = {
	"weights", "buffers", "gradients", "optimizer", "workspace", "communication", "graph pools",
};

/* Which of them has the owner; VT_LEFTOVERS_NR_ON_PURPOSE: none. */
static unsigned find_on_purpose(const char *owner)
{
	unsigned i = 0;

	while (i < VT_LEFTOVERS_NR_ON_PURPOSE &&
	       !vt_owner_path_is_below(owner, vt_leftovers_on_purpose[i],
				       strlen(vt_leftovers_on_purpose[i])))
		i++;
	return i;
}

VT_VECTOR_DECLARE(left, struct vt_leak);

/*
 * Where what the run was doing when it ended began: the step that it was in, or the pass; VT_NEVER:
 * it ended well.
 */
static int64_t interrupted_from(const struct vt_attribution *attribution)
{
	const struct vt_stages *stages = attribution->facts->stages;
	const struct vt_steps *steps = &stages->steps;
	const struct vt_passes *passes = &stages->passes;
	char *ended = vt_db_run_get(attribution->facts->model->db, "ended");
	int is_well = !ended || !strcmp(ended, "exit 0");
	int64_t from = VT_NEVER;

	free(ended);
	if (is_well)
		return VT_NEVER;
	if (steps->nr && !steps->steps[steps->nr - 1].is_complete)
		from = stages->spans[steps->steps[steps->nr - 1].first_span].first_event;
	if (passes->nr && passes->passes[passes->nr - 1].end_event == VT_NEVER &&
	    passes->passes[passes->nr - 1].first_event < from)
		from = passes->passes[passes->nr - 1].first_event;
	return from;
}

static void add(struct left *left, struct vt_map *places, const struct vt_describe *describe,
		uint32_t index, uint32_t owner)
{
	const struct vt_allocation *all = describe->model->allocations;
	const struct vt_key key = { vt_site_of(describe, &all[index]), owner,
				    (uint64_t)all[index].common->device };
	uint64_t *known = vt_map_find(places, key);
	struct vt_leak fresh = { .allocation = index, .owner = owner }, *leak;

	if (!known) {
		vt_map_put(places, key, left->len);
		vt_vector_push(left, fresh);
		known = vt_map_find(places, key);
	}
	leak = &left->items[*known];
	if (all[index].common->size_bytes > all[leak->allocation].common->size_bytes)
		leak->allocation = index;
	leak->bytes += all[index].common->size_bytes;
	leak->blocks++;
}

void vt_leftovers_init(struct vt_leftovers *leftovers, struct vt_attribution *attribution,
		       const struct vt_describe *describe, int device)
{
	const struct vt_model *model = describe->model;
	const int64_t doubted = vt_losses_doubted_before(model->db);
	const int64_t interrupted = interrupted_from(attribution);
	struct vt_map places = { 0 };
	struct left left = { 0 };

	memset(leftovers, 0, sizeof(*leftovers));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		unsigned on_purpose;
		uint32_t owner;

		if (a->freed_event != VT_NEVER || a->event < doubted ||
		    !vt_allocation_is_owned(a) ||
		    (device != VT_WHEN_ALL_DEVICES && a->common->device != device))
			continue;
		owner = vt_attribution_judge(attribution, i).owner;
		on_purpose = find_on_purpose(vt_attribution_owner(attribution, owner));
		if (on_purpose < VT_LEFTOVERS_NR_ON_PURPOSE) {
			leftovers->on_purpose_bytes += a->common->size_bytes;
			leftovers->has_on_purpose[on_purpose] = 1;
		} else if (a->event >= interrupted) {
			leftovers->interrupted_bytes += a->common->size_bytes;
		} else {
			add(&left, &places, describe, i, owner);
		}
	}
	vt_map_release(&places);
	leftovers->items = left.items;
	leftovers->nr = (uint32_t)left.len;
	vt_sort(leftovers->items, leftovers->nr, vt_leak_compare_bytes);
}

void vt_leftovers_release(struct vt_leftovers *leftovers)
{
	free(leftovers->items);
	memset(leftovers, 0, sizeof(*leftovers));
}
