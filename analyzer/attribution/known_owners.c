/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/known_owners.h"

#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

static int is_kind(const struct vt_rules *rules, const char *name, size_t len)
{
	for (unsigned i = 0; i < rules->nr_kinds; i++)
		if (strlen(rules->kinds[i].name) == len &&
		    !strncmp(rules->kinds[i].name, name, len))
			return 1;
	return 0;
}

/* "activations/{kind}" gives an owner per kind; what a variable or a place is called is open. */
static int could_give(const struct vt_rules *rules, const char *given, const char *owner,
		      size_t len)
{
	size_t fixed = strcspn(given, "{");

	if (!given[fixed])
		return vt_owner_path_is_below(given, owner, len);
	/* What is named by nothing but the program could be called anything: that tells nothing. */
	if (!fixed)
		return 0;
	if (len < fixed || strncmp(owner, given, fixed) != 0)
		return strncmp(given, owner, len) == 0 && given[len] == '/';
	return strcmp(given + fixed, "{kind}") != 0 || is_kind(rules, owner + fixed, len - fixed);
}

int vt_known_owners_has(const struct vt_attribution *attribution, const struct vt_rules *rules,
			const char *owner, size_t len)
{
	if (vt_owner_path_is_below(VT_OWNER_UNKNOWN, owner, len))
		return 1;
	for (unsigned i = 0; i < rules->nr_rules; i++)
		if (rules->rules[i].owner && could_give(rules, rules->rules[i].owner, owner, len))
			return 1;
	for (size_t i = 0; i < attribution->verdicts.paths.len; i++)
		if (vt_owner_path_is_below(attribution->verdicts.paths.items[i], owner, len))
			return 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *vt_known_owners_list(const struct vt_rules *rules)
{
	char **firsts = vt_xcalloc(rules->nr_rules + 1, sizeof(*firsts));
	struct vt_buffer list;
	unsigned nr = 0;

	for (unsigned i = 0; i < rules->nr_rules; i++) {
		const char *owner = rules->rules[i].owner;

		if (owner && *owner != '{')
			firsts[nr++] = vt_xstrndup(owner, strcspn(owner, "/{"));
	}
	vt_sort(firsts, nr, compare);
	vt_buffer_init(&list);
	for (unsigned i = 0; i < nr; i++)
		if (!i || strcmp(firsts[i], firsts[i - 1]) != 0)
			vt_buffer_printf(&list, "%s%s", list.len ? ", " : "", firsts[i]);
	for (unsigned i = 0; i < nr; i++)
		free(firsts[i]);
	free(firsts);
	return vt_buffer_detach(&list);
}
