/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/attribution.h"

#include <string.h>

#include "analyzer/attribution/inference/gradients.h"
#include "analyzer/attribution/inference/cache_sites.h"
#include "analyzer/attribution/inference/derived_tensors.h"
#include "analyzer/attribution/inference/replaced_parameters.h"
#include "analyzer/attribution/inference/staging.h"
#include "analyzer/attribution/inference/functional_updates.h"
#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"
#include "common/journal_format.h"

static void find_updates(struct vt_attribution *attribution)
{
	vt_functional_updates_find(attribution->facts);
}

static void find_gradients(struct vt_attribution *attribution)
{
	vt_gradients_find(attribution->facts);
	vt_replaced_parameters_find(attribution->facts);
}

static void find_derived(struct vt_attribution *attribution)
{
	vt_derived_tensors_find(attribution->facts);
	vt_staging_find(attribution->facts);
}

static void find_names(struct vt_attribution *attribution)
{
	vt_variables_init(&attribution->variables, &attribution->facts->names);
	vt_allocation_sites_init(&attribution->places, attribution->facts->model);
}

/*
 * None of them needs what another finds, and only the last asks data flow, which fills a table as
 * it is asked.  In a long recording the first takes longest.
 */
static void (*const searches[])(struct vt_attribution *) = {
	find_updates,
	find_gradients,
	find_names,
	find_derived,
};

static void search(void *attribution, size_t number)
{
	searches[number](attribution);
}

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts)
{
	memset(attribution, 0, sizeof(*attribution));
	attribution->facts = facts;
	vt_parallel_run(VT_ARRAY_SIZE(searches), search, attribution);
	/* By rules, which may ask for all of these. */
	vt_cache_sites_find(facts);
	vt_match_init(&attribution->match, facts);
	vt_kinds_init(&attribution->kinds, facts);
	vt_narrow_init(&attribution->verdict_of, facts->model->nr_allocations);
}

void vt_attribution_release(struct vt_attribution *attribution)
{
	for (uint32_t i = 0; i < attribution->nr_paths; i++)
		free(attribution->paths[i]);
	free(attribution->paths);
	vt_vector_release(&attribution->owner_of);
	vt_vector_release(&attribution->path_of);
	vt_vector_release(&attribution->verdicts);
	vt_map_release(&attribution->verdict_numbers);
	vt_narrow_release(&attribution->verdict_of);
	vt_map_release(&attribution->numbers);
	vt_map_release(&attribution->of_rules);
	vt_match_release(&attribution->match);
	vt_kinds_release(&attribution->kinds);
	vt_allocation_sites_release(&attribution->places);
	vt_variables_release(&attribution->variables);
	memset(attribution, 0, sizeof(*attribution));
}

/* Where a path's number is, or would be; two paths of one hash stand behind each other. */
static struct vt_key key_of(const struct vt_attribution *attribution, const char *path)
{
	struct vt_key key = { 0xcbf29ce484222325ull, strlen(path), 0 };
	const uint64_t *number;

	/* FNV-1a. */
	for (const char *at = path; *at; at++)
		key.a = (key.a ^ (unsigned char)*at) * 0x100000001b3ull;
	while ((number = vt_map_find(&attribution->numbers, key)) &&
	       strcmp(attribution->paths[*number], path) != 0)
		key.c++;
	return key;
}

/* Takes the path. */
static uint32_t number_path(struct vt_attribution *attribution, char *path)
{
	struct vt_key key = key_of(attribution, path);
	const uint64_t *known = vt_map_find(&attribution->numbers, key);

	if (known) {
		free(path);
		return (uint32_t)*known;
	}
	vt_map_put(&attribution->numbers, key, attribution->nr_paths);
	attribution->paths = vt_vector_grow(attribution->paths, &attribution->path_capacity,
					    attribution->nr_paths + 1, sizeof(char *));
	attribution->paths[attribution->nr_paths] = path;
	vt_vector_push(&attribution->owner_of, VT_NO_INDEX);
	return attribution->nr_paths++;
}

/* The row that a rule speaks of: the strongest of the roles it asks for, else of any. */
static const struct vt_tensor *row_of(const struct vt_attribution *attribution,
				      const struct vt_rule *rule, uint32_t allocation)
{
	uint32_t mask = VT_NAMES_ANY_ROLE;

	for (unsigned i = 0; i < rule->nr_conditions; i++)
		if (rule->conditions[i].fact == VT_FACT_ROLE && !rule->conditions[i].is_negated)
			mask = rule->conditions[i].words;
	if (mask == 1u << VT_ROLE_VARIABLE)
		return vt_variables_row(&attribution->facts->names, allocation);
	return vt_names_find(&attribution->facts->names, allocation, mask);
}

/* A stated owner may be that nobody knows it. */
static char *holder_of(const struct vt_attribution *attribution, const struct vt_tensor *row)
{
	const char *text = vt_model_text(attribution->facts->model, row->holder);

	return text && strcmp(text, VT_OWNER_UNKNOWN) != 0 ? vt_xstrdup(text) : NULL;
}

/* What a placeholder stands for; the caller frees.  NULL: nothing here. */
static char *value_of(struct vt_attribution *attribution, const struct vt_rule *rule,
		      const char *word, uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	const struct vt_names *names = &attribution->facts->names;
	const struct vt_tensor *row;

	if (strcmp(word, "kind") == 0)
		return vt_xstrdup(vt_kinds_find(&attribution->kinds, a));
	if (strcmp(word, "place") == 0)
		return vt_allocation_sites_find(&attribution->places, a);
	if (strcmp(word, "variable") == 0)
		return vt_variables_name(&attribution->variables, allocation);
	if (strcmp(word, "parameter") == 0)
		row = vt_facts_parameter(attribution->facts, a);
	else
		row = row_of(attribution, rule, allocation);
	if (strcmp(word, "holder") == 0)
		return row ? holder_of(attribution, row) : NULL;
	return row ? vt_names_tensor_path(names, row) : NULL;
}

/* Replaces "{WORD}"; a path ends before the part that has nothing to stand there. */
static char *expand(struct vt_attribution *attribution, const struct vt_rule *rule,
		    const char *template, uint32_t allocation)
{
	const char *open = strchr(template, '{'), *close = open ? strchr(open, '}') : NULL;
	char *word, *value, *text;
	size_t len;

	if (!close)
		return vt_xstrdup(template);
	word = vt_xstrndup(open + 1, (size_t)(close - open - 1));
	value = value_of(attribution, rule, word, allocation);
	len = (size_t)(open - template);
	if (value && *value)
		text = vt_xasprintf("%.*s%s%s", (int)len, template, value, close + 1);
	else
		text = vt_xstrndup(template, len && template[len - 1] == '/' ? len - 1 : len);
	free(word);
	free(value);
	return text;
}

const struct vt_rule *vt_attribution_rule(const struct vt_attribution *attribution,
					  struct vt_verdict verdict)
{
	return verdict.rule ? &attribution->facts->rules->rules[verdict.rule - 1] : NULL;
}

/* Only of what a probe saw among a module's parameters, or in an optimizer's list. */
static uint8_t training_of(const struct vt_attribution *attribution, const struct vt_rule *rule,
			   uint32_t allocation)
{
	const struct vt_tensor *row;

	if (strcmp(rule->owner, VT_OWNER_WEIGHTS) != 0)
		return VT_TRAINING_UNKNOWN;
	row = vt_names_find(&attribution->facts->names, allocation,
			    1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_MASTER);
	if (!row)
		row = vt_facts_parameter(attribution->facts,
					 &attribution->facts->model->allocations[allocation]);
	if (!row)
		return VT_TRAINING_UNKNOWN;
	return row->flags & VT_TENSOR_REQUIRES_GRAD ? VT_TRAINING_TRAINED : VT_TRAINING_FROZEN;
}

/* The number of what a rule's owner stands for; VT_NO_INDEX: nothing. */
static uint32_t expand_owner(struct vt_attribution *attribution, const struct vt_rule *rule,
			     uint32_t allocation)
{
	char *owner = expand(attribution, rule, rule->owner, allocation);

	if (*owner)
		return number_path(attribution, owner);
	free(owner);
	return VT_NO_INDEX;
}

/* Most owners are a rule's text, with a kind at its end or without: each is put together once. */
static uint32_t owner_by(struct vt_attribution *attribution, const struct vt_rule *rule,
			 uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	const char *open = strchr(rule->owner, '{');
	struct vt_key key = { (uintptr_t)rule, 0, 0 };
	const uint64_t *known;
	uint32_t owner;

	if (open && strcmp(open, "{kind}") != 0)
		return expand_owner(attribution, rule, allocation);
	if (open)
		key.b = (uintptr_t)vt_kinds_find(&attribution->kinds, a);
	known = vt_map_find(&attribution->of_rules, key);
	if (known)
		return (uint32_t)*known;
	owner = expand_owner(attribution, rule, allocation);
	vt_map_put(&attribution->of_rules, key, owner);
	return owner;
}

enum vt_provenance vt_attribution_provenance_by(struct vt_attribution *attribution,
						const struct vt_rule *rule, uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];

	if (!rule)
		return VT_PROVENANCE_UNKNOWN;
	return strstr(rule->owner, "{kind}") && vt_kinds_is_by_flow(&attribution->kinds, a) ?
		       VT_PROVENANCE_FLOW :
		       rule->provenance;
}

/* Millions of allocations share some hundred verdicts. */
static uint32_t number_verdict(struct vt_attribution *attribution, struct vt_verdict verdict)
{
	struct vt_key key = { verdict.owner, verdict.rule,
			      (uint64_t)verdict.provenance << 8 | verdict.training };
	const uint64_t *known = vt_map_find(&attribution->verdict_numbers, key);

	if (known)
		return (uint32_t)*known;
	vt_vector_push(&attribution->verdicts, verdict);
	vt_map_put(&attribution->verdict_numbers, key, attribution->verdicts.len);
	return (uint32_t)attribution->verdicts.len;
}

static uint32_t judge(struct vt_attribution *attribution, uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	const struct vt_rule *rule = vt_match_rule(&attribution->match, a, NULL);
	uint32_t path = rule ? owner_by(attribution, rule, allocation) : VT_NO_INDEX;
	struct vt_verdict verdict = { 0 };

	/* An owner that depends on what the stacks do not tell. */
	if (path == VT_NO_INDEX) {
		path = number_path(attribution, vt_xstrdup(VT_OWNER_UNKNOWN));
		rule = NULL;
	}
	verdict.provenance = (uint8_t)vt_attribution_provenance_by(attribution, rule, allocation);
	verdict.rule = rule ? (uint16_t)(rule - attribution->facts->rules->rules + 1) : 0;
	verdict.training = rule ? training_of(attribution, rule, allocation) : 0;
	verdict.owner = path;
	return number_verdict(attribution, verdict);
}

static const struct vt_verdict *verdict_of(struct vt_attribution *attribution, uint32_t allocation)
{
	uint32_t number = vt_narrow_get(&attribution->verdict_of, allocation);

	if (!number) {
		number = judge(attribution, allocation);
		vt_narrow_set(&attribution->verdict_of, allocation, number);
	}
	return &attribution->verdicts.items[number - 1];
}

static uint32_t number_owner(struct vt_attribution *attribution, uint32_t path)
{
	uint32_t *owner = &attribution->owner_of.items[path];

	if (*owner == VT_NO_INDEX) {
		*owner = (uint32_t)attribution->path_of.len;
		vt_vector_push(&attribution->path_of, path);
	}
	return *owner;
}

struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation)
{
	struct vt_verdict verdict = *verdict_of(attribution, allocation);

	verdict.owner = number_owner(attribution, verdict.owner);
	return verdict;
}

void vt_attribution_judge_all(struct vt_attribution *attribution)
{
	const struct vt_model *model = attribution->facts->model;

	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (vt_allocation_is_owned(&model->allocations[i]))
			verdict_of(attribution, i);
}

char *vt_attribution_path_by(struct vt_attribution *attribution, const struct vt_rule *rule,
			     uint32_t allocation)
{
	char *owner, *leaf, *path;

	if (!rule)
		return vt_xstrdup(VT_OWNER_UNKNOWN);
	owner = expand(attribution, rule, rule->owner, allocation);
	if (!rule->leaf)
		return owner;
	leaf = expand(attribution, rule, rule->leaf, allocation);
	path = *leaf ? vt_xasprintf("%s/%s", owner, leaf) : vt_xstrdup(owner);
	free(owner);
	free(leaf);
	return path;
}

char *vt_attribution_path(struct vt_attribution *attribution, uint32_t allocation)
{
	struct vt_verdict verdict = vt_attribution_judge(attribution, allocation);

	return vt_attribution_path_by(attribution, vt_attribution_rule(attribution, verdict),
				      allocation);
}

const char *vt_attribution_owner(const struct vt_attribution *attribution, uint32_t owner)
{
	return owner < attribution->path_of.len ?
		       attribution->paths[attribution->path_of.items[owner]] :
		       VT_OWNER_UNKNOWN;
}
