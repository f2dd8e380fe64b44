/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/attribution.h"

#include <string.h>

#include "analyzer/base/util.h"

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts)
{
	memset(attribution, 0, sizeof(*attribution));
	attribution->facts = facts;
	vt_match_init(&attribution->match, facts);
	vt_kinds_init(&attribution->kinds, facts);
	attribution->verdicts =
		vt_xcalloc((size_t)facts->model->nr_allocations + 1, sizeof(struct vt_verdict));
}

void vt_attribution_release(struct vt_attribution *attribution)
{
	for (uint32_t i = 0; i < attribution->nr_owners; i++)
		free(attribution->owners[i]);
	free(attribution->owners);
	free(attribution->verdicts);
	vt_match_release(&attribution->match);
	vt_kinds_release(&attribution->kinds);
	memset(attribution, 0, sizeof(*attribution));
}

/* Takes the path; there are a few dozen. */
static uint16_t number_owner(struct vt_attribution *attribution, char *path)
{
	for (uint32_t i = 0; i < attribution->nr_owners; i++)
		if (strcmp(attribution->owners[i], path) == 0) {
			free(path);
			return (uint16_t)i;
		}
	attribution->owners = vt_vector_grow(attribution->owners, &attribution->owner_capacity,
					     attribution->nr_owners + 1, sizeof(char *));
	attribution->owners[attribution->nr_owners] = path;
	return (uint16_t)attribution->nr_owners++;
}

static char *owner_path(struct vt_attribution *attribution, const struct vt_rule *rule,
			const struct vt_allocation *a)
{
	static const char placeholder[] = "{kind}";
	const char *found = strstr(rule->owner, placeholder);

	if (!found)
		return vt_xstrdup(rule->owner);
	return vt_xasprintf("%.*s%s%s", (int)(found - rule->owner), rule->owner,
			    vt_kinds_find(&attribution->kinds, a), found + strlen(placeholder));
}

struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation)
{
	struct vt_verdict *verdict = &attribution->verdicts[allocation];
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	const struct vt_rule *rule;

	if (verdict->is_judged)
		return *verdict;
	rule = vt_match_rule(&attribution->match, a);
	verdict->is_judged = 1;
	verdict->provenance = rule ? rule->provenance : VT_PROVENANCE_UNKNOWN;
	verdict->rule = rule ? (uint16_t)(rule - attribution->facts->rules->rules + 1) : 0;
	verdict->owner = number_owner(attribution, rule ? owner_path(attribution, rule, a)
							: vt_xstrdup(VT_OWNER_UNKNOWN));
	return *verdict;
}

const char *vt_attribution_owner(const struct vt_attribution *attribution, uint32_t owner)
{
	return owner < attribution->nr_owners ? attribution->owners[owner] : VT_OWNER_UNKNOWN;
}
