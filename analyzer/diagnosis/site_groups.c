/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/site_groups.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/util.h"
#include "analyzer/model/site.h"
#include "analyzer/model/when.h"

struct build {
	const struct vt_describe *describe;
	struct vt_map stacks; /* of recorded stacks: group */
	struct vt_map sites;  /* of site and device: group */
	uint32_t nr;
};

/* Sites are asked once per combination of stacks: it takes reading all frames. */
static uint32_t group_of(struct build *build, const struct vt_allocation *a)
{
	const struct vt_key key = {
		(uint64_t)a->common->made->python_stack << 32 | a->common->made->native_stack,
		a->common->made->node_class ? a->common->made->forward_python_stack : 0,
		(uint64_t)a->common->device << 1 | !a->common->made->node_class
	};
	uint64_t *known = vt_map_find(&build->stacks, key);
	struct vt_key site = { 0, (uint64_t)a->common->device, 0 };

	if (known)
		return (uint32_t)*known;
	site.a = vt_site_of(build->describe, a);
	known = vt_map_find(&build->sites, site);
	if (!known) {
		vt_map_put(&build->sites, site, build->nr++);
		known = vt_map_find(&build->sites, site);
	}
	vt_map_put(&build->stacks, key, *known);
	return (uint32_t)*known;
}

static void assign(struct vt_site_groups *groups, struct build *build, int device,
		   const int64_t *ends, uint32_t nr_ends)
{
	const struct vt_model *model = build->describe->model;
	uint32_t next = 0; /* the first end at or behind the allocation */

	groups->by_allocation =
		vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*groups->by_allocation));
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		while (next < nr_ends && ends[next] < a->event)
			next++;
		groups->by_allocation[i] = VT_NO_INDEX;
		if (next == nr_ends || a->freed_event <= ends[next] ||
		    (device != VT_WHEN_ALL_DEVICES && a->common->device != device) ||
		    !vt_allocation_is_owned(a))
			continue;
		groups->by_allocation[i] = group_of(build, a);
	}
	groups->nr = build->nr;
}

static uint32_t group_at(const struct vt_site_groups *groups, const struct vt_moment *moment)
{
	if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
		return VT_NO_INDEX;
	return groups->by_allocation[moment->index];
}

static void sort_moments(struct vt_site_groups *groups, const struct vt_timeline *timeline)
{
	uint32_t *next = vt_xcalloc((size_t)groups->nr + 1, sizeof(*next)), sum = 0;

	groups->first = vt_xcalloc((size_t)groups->nr + 1, sizeof(*groups->first));
	for (uint32_t i = 0; i < timeline->nr; i++) {
		uint32_t group = group_at(groups, &timeline->moments[i]);

		if (group != VT_NO_INDEX)
			next[group]++;
	}
	for (uint32_t i = 0; i <= groups->nr; i++) {
		uint32_t count = next[i];

		groups->first[i] = next[i] = sum;
		sum += count;
	}
	groups->moments = vt_xcalloc((size_t)sum + 1, sizeof(*groups->moments));
	for (uint32_t i = 0; i < timeline->nr; i++) {
		uint32_t group = group_at(groups, &timeline->moments[i]);

		if (group != VT_NO_INDEX)
			groups->moments[next[group]++] = timeline->moments[i];
	}
	free(next);
}

void vt_site_groups_init(struct vt_site_groups *groups, const struct vt_timeline *timeline,
			 const struct vt_describe *describe, int device, const int64_t *ends,
			 uint32_t nr_ends)
{
	struct build build = { .describe = describe };

	memset(groups, 0, sizeof(*groups));
	assign(groups, &build, device, ends, nr_ends);
	sort_moments(groups, timeline);
	vt_map_release(&build.stacks);
	vt_map_release(&build.sites);
}

void vt_site_groups_release(struct vt_site_groups *groups)
{
	free(groups->by_allocation);
	free(groups->first);
	free(groups->moments);
	memset(groups, 0, sizeof(*groups));
}
