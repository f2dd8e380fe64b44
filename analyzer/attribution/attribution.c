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

/*
 * So many are judged on two processors: for fewer it is not worth what has to be found twice.
 * Sanitizers look at all.
 */
#ifndef VT_JUDGED_IN_HALVES
#define VT_JUDGED_IN_HALVES 100000
#endif

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

/* None of them needs what another finds; in a long recording the first takes longest. */
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

static void begin_judging(struct vt_attribution *attribution)
{
	vt_match_init(&attribution->match, attribution->facts);
	vt_kinds_init(&attribution->kinds, attribution->facts);
	vt_verdicts_init(&attribution->verdicts, attribution->facts->model->nr_allocations);
}

void vt_attribution_init(struct vt_attribution *attribution, struct vt_facts *facts)
{
	memset(attribution, 0, sizeof(*attribution));
	attribution->facts = facts;
	vt_parallel_run(VT_ARRAY_SIZE(searches), search, attribution);
	/* By rules, which may ask for all of these. */
	vt_cache_sites_find(facts);
	begin_judging(attribution);
}

void vt_attribution_release(struct vt_attribution *attribution)
{
	vt_verdicts_release(&attribution->verdicts);
	vt_map_release(&attribution->of_rules);
	vt_match_release(&attribution->match);
	vt_kinds_release(&attribution->kinds);
	vt_allocation_sites_release(&attribution->places);
	vt_variables_release(&attribution->variables);
	memset(attribution, 0, sizeof(*attribution));
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
		return vt_xstrdup(vt_kinds_find(&attribution->kinds, a, NULL));
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

	if (!rule->is_of_weights)
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
		return vt_verdicts_path(&attribution->verdicts, owner);
	free(owner);
	return VT_NO_INDEX;
}

enum vt_provenance vt_attribution_provenance_by(struct vt_attribution *attribution,
						const struct vt_rule *rule, uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	int is_by_flow = 0;

	if (!rule)
		return VT_PROVENANCE_UNKNOWN;
	if (strstr(rule->owner, "{kind}"))
		vt_kinds_find(&attribution->kinds, a, &is_by_flow);
	return is_by_flow ? VT_PROVENANCE_FLOW : rule->provenance;
}

/* `rule` may be NULL. */
static uint32_t judge_by(struct vt_attribution *attribution, const struct vt_rule *rule,
			 uint32_t allocation)
{
	uint32_t path = rule ? expand_owner(attribution, rule, allocation) : VT_NO_INDEX;
	struct vt_verdict verdict = { 0 };

	/* An owner that depends on what the stacks do not tell. */
	if (path == VT_NO_INDEX) {
		path = vt_verdicts_path(&attribution->verdicts, vt_xstrdup(VT_OWNER_UNKNOWN));
		rule = NULL;
	}
	verdict.provenance = (uint8_t)vt_attribution_provenance_by(attribution, rule, allocation);
	verdict.rule = rule ? (uint16_t)(rule - attribution->facts->rules->rules + 1) : 0;
	verdict.training = rule ? training_of(attribution, rule, allocation) : 0;
	verdict.owner = path;
	return vt_verdicts_number(&attribution->verdicts, verdict);
}

/* Most owners are a rule's text, with a kind at its end or without: each is put together once. */
static uint32_t judge(struct vt_attribution *attribution, uint32_t allocation)
{
	const struct vt_allocation *a = &attribution->facts->model->allocations[allocation];
	const struct vt_rule *rule = vt_match_rule(&attribution->match, a, NULL);
	struct vt_key key = { (uintptr_t)rule, 0, 0 };
	const uint64_t *known;
	uint32_t number;
	int is_by_flow = 0;

	if (!rule || rule->owner_form == VT_OWNER_FORM_NAMED)
		return judge_by(attribution, rule, allocation);
	if (rule->owner_form == VT_OWNER_FORM_KIND)
		key.b = (uintptr_t)vt_kinds_find(&attribution->kinds, a, &is_by_flow);
	key.c = (uint64_t)is_by_flow << 8 | training_of(attribution, rule, allocation);
	known = vt_map_find(&attribution->of_rules, key);
	if (known)
		return (uint32_t)*known;
	number = judge_by(attribution, rule, allocation);
	vt_map_put(&attribution->of_rules, key, number);
	return number;
}

static const struct vt_verdict *verdict_of(struct vt_attribution *attribution, uint32_t allocation)
{
	struct vt_verdicts *verdicts = &attribution->verdicts;
	uint32_t number = vt_narrow_get(&verdicts->of, allocation);

	if (!number) {
		number = judge(attribution, allocation);
		vt_narrow_set(&verdicts->of, allocation, number);
	}
	return &verdicts->items.items[number - 1];
}

struct vt_verdict vt_attribution_judge(struct vt_attribution *attribution, uint32_t allocation)
{
	struct vt_verdict verdict = *verdict_of(attribution, allocation);

	verdict.owner = vt_verdicts_owner(&attribution->verdicts, verdict.owner);
	return verdict;
}

/* Half of all allocations each; what is remembered of stacks and sites is not shared. */
struct judging {
	struct vt_attribution *halves[2];
	uint32_t middle;
};

static void judge_half(void *context, size_t number)
{
	const struct judging *judging = context;
	struct vt_attribution *half = judging->halves[number];
	uint32_t end = number ? half->facts->model->nr_allocations : judging->middle;

	for (uint32_t i = number ? judging->middle : 0; i < end; i++)
		verdict_of(half, i);
}

static void judge_halves(struct vt_attribution *attribution)
{
	const struct vt_model *model = attribution->facts->model;
	struct vt_attribution other = { .facts = attribution->facts,
					.variables = attribution->variables };
	struct judging judging = { { attribution, &other }, model->nr_allocations / 2 };

	vt_allocation_sites_init(&other.places, model);
	begin_judging(&other);
	vt_parallel_run(2, judge_half, &judging);
	vt_verdicts_take(&attribution->verdicts, &other.verdicts, judging.middle,
			 model->nr_allocations);
	memset(&other.variables, 0, sizeof(other.variables));
	vt_attribution_release(&other);
}

void vt_attribution_judge_all(struct vt_attribution *attribution)
{
	uint32_t nr = attribution->facts->model->nr_allocations;

	if (nr >= VT_JUDGED_IN_HALVES && !attribution->is_all_judged)
		judge_halves(attribution);
	for (uint32_t i = 0; i < nr && !attribution->is_all_judged; i++)
		verdict_of(attribution, i);
	attribution->is_all_judged = 1;
}

void vt_attribution_complete(struct vt_attribution *attribution)
{
	struct vt_verdicts *verdicts = &attribution->verdicts;

	vt_attribution_judge_all(attribution);
	for (size_t v = 0; v < verdicts->items.len; v++)
		vt_verdicts_owner(verdicts, verdicts->items.items[v].owner);
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
	const struct vt_verdicts *verdicts = &attribution->verdicts;

	return owner < verdicts->path_of.len ? verdicts->paths.items[verdicts->path_of.items[owner]]
					     : VT_OWNER_UNKNOWN;
}
