/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/cache_sites.h"

#include <string.h>

#include "analyzer/attribution/inference/match.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

struct search {
	struct vt_facts *facts;
	struct vt_match match;
	struct vt_map places; /* of blocks that are a cache by their names */
};

static struct vt_key place_of(const struct vt_allocation *a)
{
	struct vt_key key = { a->common->made->python_stack, a->common->made->native_stack, 0 };

	return key;
}

/* Made in a module's call that autograd did not record, and alive behind it. */
static int is_kept(const struct search *search, const struct vt_allocation *a)
{
	uint32_t nr;

	vt_module_stacks_get(&search->facts->stages->module_stacks, a->common->made->python_stack,
			     &nr);
	return nr && !a->common->made->node_class && vt_allocation_is_owned(a) &&
	       (vt_facts_grad_modes(search->facts, a) & 1u << VT_GRAD_MODE_OFF) &&
	       (vt_facts_lifetimes(search->facts, a) & 1u << VT_LIFETIME_AFTER_CALL);
}

static int is_cache_by_name(struct search *search, const struct vt_allocation *a)
{
	const struct vt_rule *rule;

	if (!vt_facts_roles(search->facts, a) || !is_kept(search, a))
		return 0;
	rule = vt_match_rule(&search->match, a, NULL);
	return rule && rule->provenance == VT_PROVENANCE_NAMES &&
	       strcmp(rule->owner, "kv cache") == 0;
}

void vt_cache_sites_find(struct vt_facts *facts)
{
	const struct vt_model *model = facts->model;
	struct search search = { .facts = facts };
	uint8_t *found = vt_xcalloc((size_t)model->nr_allocations + 1, 1);

	vt_match_init(&search.match, facts);
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (is_cache_by_name(&search, &model->allocations[i]))
			vt_map_put(&search.places, place_of(&model->allocations[i]), 1);
	for (uint32_t i = 0; search.places.len && i < model->nr_allocations; i++)
		found[i] = vt_map_find(&search.places, place_of(&model->allocations[i])) &&
			   is_kept(&search, &model->allocations[i]);
	vt_match_release(&search.match);
	vt_map_release(&search.places);
	facts->as_cache = found;
}
