/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/match.h"

#include <string.h>

/* The words of one allocation, each fact's found once: many rules ask for the same. */
struct words {
	uint64_t known; /* bit per fact */
	uint32_t of[VT_NR_FACTS];
	struct vt_decision_list *asked; /* what was found, in order; NULL: of no interest */
};

/* Questions of vt_match.decisions: a fact's words, or whether a condition fits. */
#define CONDITION_QUESTION(condition) (VT_NR_FACTS + (condition)->id)

_Static_assert(VT_NR_FACTS <= 64, "struct words");

/* Whether what a condition says is the same for all allocations of a site. */
static int is_of_site(const struct vt_condition *condition)
{
	return condition->compare == VT_COMPARE_STACK || condition->fact == VT_FACT_KIND ||
	       (condition->compare == VT_COMPARE_TEXT && condition->fact != VT_FACT_FORWARD_NODE);
}

static void find_asked(struct vt_match *match)
{
	const struct vt_rules *rules = match->rules;
	uint32_t nr = 0;

	match->first_asked = vt_xcalloc((size_t)rules->nr_rules + 1, sizeof(*match->first_asked));
	match->asked = vt_xcalloc((size_t)rules->nr_conditions + 1, sizeof(*match->asked));
	match->by_id = vt_xcalloc((size_t)rules->nr_conditions + 1, sizeof(*match->by_id));
	for (uint32_t r = 0; r < rules->nr_rules; r++) {
		match->first_asked[r] = nr;
		for (unsigned i = 0; i < rules->rules[r].nr_conditions; i++)
			if (!is_of_site(&rules->rules[r].conditions[i])) {
				const struct vt_condition *condition =
					&rules->rules[r].conditions[i];

				match->asked[nr++] = condition;
				match->by_id[condition->id] = condition;
			}
	}
	match->first_asked[rules->nr_rules] = nr;
}

void vt_match_init(struct vt_match *match, struct vt_facts *facts)
{
	match->rules = facts->rules;
	vt_conditions_init(&match->conditions, facts);
	find_asked(match);
}

void vt_match_release(struct vt_match *match)
{
	vt_conditions_release(&match->conditions);
	free(match->first_asked);
	free(match->asked);
	free(match->by_id);
	vt_map_release(&match->sites);
	vt_vector_release(&match->site_list);
	vt_decisions_release(&match->decisions);
	vt_vector_release(&match->asked_now);
	vt_map_release(&match->workspaces);
	vt_vector_release(&match->left);
	memset(match, 0, sizeof(*match));
}

static uint32_t known_words(struct vt_match *match, const struct vt_allocation *a,
			    enum vt_fact fact, struct words *words)
{
	if (!(words->known & 1ull << fact)) {
		words->of[fact] = vt_conditions_words(match->conditions.facts, a, fact);
		words->known |= 1ull << fact;
		if (words->asked)
			vt_vector_push(words->asked,
				       ((struct vt_decision){ fact, words->of[fact] }));
	}
	return words->of[fact];
}

static int fits(struct vt_match *match, const struct vt_condition *condition,
		const struct vt_allocation *a, struct words *words)
{
	int is_fitting;

	if (condition->compare == VT_COMPARE_WORDS)
		return (known_words(match, a, condition->fact, words) & condition->words) != 0;
	is_fitting = vt_conditions_fit(&match->conditions, condition, a);
	if (words->asked)
		vt_vector_push(words->asked, ((struct vt_decision){ CONDITION_QUESTION(condition),
								    (uint32_t)is_fitting }));
	return is_fitting;
}

static int holds_at_site(struct vt_match *match, const struct vt_rule *rule,
			 const struct vt_allocation *a, struct words *words)
{
	for (unsigned i = 0; i < rule->nr_conditions; i++) {
		const struct vt_condition *condition = &rule->conditions[i];

		if (is_of_site(condition) &&
		    fits(match, condition, a, words) == condition->is_negated)
			return 0;
	}
	return 1;
}

/* Whether the other conditions hold. */
static int holds(struct vt_match *match, uint32_t rule, const struct vt_allocation *a,
		 struct words *words)
{
	for (uint32_t i = match->first_asked[rule]; i < match->first_asked[rule + 1]; i++)
		if (fits(match, match->asked[i], a, words) == match->asked[i]->is_negated)
			return 0;
	return 1;
}

/* All that conditions on the site ask for.  Of equal callers there is one, or a few. */
static struct vt_key site_of(const struct vt_allocation *a)
{
	struct vt_key key = { (uintptr_t)a->common->made, (uintptr_t)a->common->freed,
			      a->common->kind };

	return key;
}

/* The rules whose conditions on the site hold: few are left of all. */
static struct vt_match_site new_site(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_match_site site = { (uint32_t)match->left.len,
				      vt_decisions_root(&match->decisions) };
	struct words words = { 0 };

	for (uint32_t i = 0; i < match->rules->nr_rules; i++)
		if (holds_at_site(match, &match->rules->rules[i], a, &words))
			vt_vector_push(&match->left, i);
	vt_vector_push(&match->left, VT_NO_INDEX);
	return site;
}

static struct vt_match_site find_site(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_key key = site_of(a);
	const uint64_t *known = vt_map_find(&match->sites, key);
	struct vt_match_site site;

	if (known)
		return match->site_list.items[*known];
	site = new_site(match, a);
	vt_map_put(&match->sites, key, match->site_list.len);
	vt_vector_push(&match->site_list, site);
	return site;
}

/* Number of the first rule of a site from `left` on that fits; VT_NO_INDEX: none. */
static uint32_t first_that_holds(struct vt_match *match, const uint32_t *left,
				 const struct vt_allocation *a, struct words *words)
{
	while (*left != VT_NO_INDEX && !holds(match, *left, a, words))
		left++;
	return *left;
}

static uint32_t answer(struct vt_match *match, uint32_t question, const struct vt_allocation *a)
{
	if (question < VT_NR_FACTS)
		return vt_conditions_words(match->conditions.facts, a, question);
	return (uint32_t)vt_conditions_fit(&match->conditions, match->by_id[question - VT_NR_FACTS],
					   a);
}

/*
 * What the rules of a site ask of an allocation, one after the other, follows from the answers: so
 * does the rule, once an allocation with the same answers was put against them all.
 */
static uint32_t first_rule(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_match_site site = find_site(match, a);
	struct words words = { .known = 0, .asked = &match->asked_now };
	uint32_t node = site.root, rule;

	for (;;) {
		uint32_t asked = vt_decisions_asked(&match->decisions, node);

		if (asked == VT_DECISIONS_RESULT)
			return vt_decisions_result(&match->decisions, node);
		if (asked == VT_DECISIONS_NEW)
			break;
		node = vt_decisions_next(&match->decisions, node, answer(match, asked, a));
		if (node == VT_DECISIONS_NONE)
			break;
	}
	match->asked_now.len = 0;
	rule = first_that_holds(match, &match->left.items[site.left], a, &words);
	vt_decisions_add(&match->decisions, site.root, match->asked_now.items, match->asked_now.len,
			 rule);
	return rule;
}

const struct vt_rule *vt_match_rule(struct vt_match *match, const struct vt_allocation *a,
				    const struct vt_rule *after)
{
	const struct vt_rule *all = match->rules->rules;
	const uint32_t *left;
	struct words words;
	uint32_t rule;

	if (after) {
		left = &match->left.items[find_site(match, a).left];
		while (*left != VT_NO_INDEX && &all[*left] <= after)
			left++;
		words.known = 0;
		words.asked = NULL;
		rule = first_that_holds(match, left, a, &words);
	} else {
		rule = first_rule(match, a);
	}
	return rule == VT_NO_INDEX ? NULL : &all[rule];
}

static int asks_for_stacks_only(const struct vt_rule *rule)
{
	for (unsigned i = 0; i < rule->nr_conditions; i++)
		if (rule->conditions[i].compare != VT_COMPARE_STACK)
			return 0;
	return 1;
}

static int find_workspace_rule(struct vt_match *match, const struct vt_allocation *a)
{
	static const char workspace[] = "workspace/";
	struct words words = { 0 };

	for (uint32_t i = 0; i < match->rules->nr_rules; i++) {
		const struct vt_rule *rule = &match->rules->rules[i];

		if (strncmp(rule->owner, workspace, strlen(workspace)) == 0 &&
		    asks_for_stacks_only(rule) && holds_at_site(match, rule, a, &words))
			return 1;
	}
	return 0;
}

int vt_match_is_workspace(struct vt_match *match, const struct vt_allocation *a)
{
	struct vt_key site = site_of(a);
	const uint64_t *known = vt_map_find(&match->workspaces, site);
	int is_workspace = known ? (int)*known : find_workspace_rule(match, a);

	if (!known)
		vt_map_put(&match->workspaces, site, (uint64_t)is_workspace);
	return is_workspace;
}
