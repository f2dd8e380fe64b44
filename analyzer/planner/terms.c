/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/terms.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/term_facts.h"
#include "analyzer/planner/term_rules.h"

/* A value that is put into itself doubles with each that it is made of. */
#define MAX_TEXT (1 << 16)

/* What a value is for this plan. */
struct made {
	const char *text; /* NULL: empty */
	char *own;        /* the same, where it had to be put together */
	int is_made;
};

struct maker {
	struct vt_plan *plan;
	const struct vt_term_rules *rules;
	struct made *values; /* of all groups, made when they are first asked for */
	int has_backward;    /* layers keep something for it */
};

static const char *value_of(struct maker *m, unsigned id);

/* NULL: empty.  `buf` for what has no text of its own. */
static const char *text_of(struct maker *m, struct vt_term_reference of, char *buf, size_t size)
{
	const struct vt_term_fact *fact;
	const char *word;
	int64_t value;

	if (of.kind == VT_REFERENCE_VALUE)
		return value_of(m, of.id);
	if (of.kind == VT_REFERENCE_SETTING)
		return vt_plan_settings_text(m->plan->settings, (enum vt_setting)of.id, buf, size);
	fact = vt_term_facts_at(of.id);
	value = fact->get(m->plan);
	word = fact->words;
	if (!word) {
		snprintf(buf, size, "%lld", (long long)value);
		return buf;
	}
	for (; value > 0; value--) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	snprintf(buf, size, "%.*s", (int)strcspn(word, " "), word);
	return buf;
}

static char *expand(struct maker *m, const struct vt_term_text *text)
{
	struct vt_buffer out;
	char buf[64];

	vt_buffer_init(&out);
	for (unsigned i = 0; i < text->nr && out.len < MAX_TEXT; i++) {
		const struct vt_term_piece *piece = &text->pieces[i];
		const char *then = NULL;

		vt_buffer_append(&out, piece->text, piece->len);
		if (piece->then.kind)
			then = text_of(m, piece->then, buf, sizeof(buf));
		if (then)
			vt_buffer_puts(&out, then);
	}
	if (out.len >= MAX_TEXT)
		vt_plan_fail(m->plan, "too long", text->text);
	return vt_buffer_detach(&out);
}

static double evaluate(struct maker *m, const struct vt_term_text *text)
{
	char *formula = expand(m, text);
	double value = vt_plan_evaluate(m->plan, formula);

	free(formula);
	return value;
}

static int is_true(struct maker *m, const struct vt_term_comparison *comparison)
{
	double left = evaluate(m, &comparison->left), right = evaluate(m, &comparison->right);

	switch (comparison->compare) {
	case VT_IS_GREATER:
		return left > right;
	case VT_IS_LESS:
		return left < right;
	case VT_IS_AT_LEAST:
		return left >= right;
	case VT_IS_AT_MOST:
		return left <= right;
	case VT_IS_EQUAL:
		return left == right;
	default:
		return left != right;
	}
}

static int is_one_of(struct maker *m, const struct vt_term_condition *condition)
{
	int64_t value;

	if (condition->of.kind == VT_REFERENCE_VALUE)
		return vt_globs_match(&condition->words, value_of(m, condition->of.id));
	value = condition->of.kind == VT_REFERENCE_FACT
			? vt_term_facts_at(condition->of.id)->get(m->plan)
			: vt_plan_setting(m->plan, (enum vt_setting)condition->of.id);
	for (unsigned i = 0; i < condition->nr_numbers; i++)
		if (condition->numbers[i] == value)
			return 1;
	return 0;
}

static int is_given(const struct maker *m, const struct vt_term_condition *condition)
{
	for (unsigned i = 0; i < condition->nr_numbers; i++)
		if (m->plan->settings->is_given[condition->numbers[i]])
			return 1;
	return 0;
}

static int holds(struct maker *m, const struct vt_term_condition *condition)
{
	int is = condition->kind == VT_TERM_WHERE      ? is_true(m, condition->comparison)
		 : condition->kind == VT_TERM_IS_GIVEN ? is_given(m, condition)
						       : is_one_of(m, condition);

	return is != condition->is_negated;
}

static int all_hold(struct maker *m, const struct vt_term_case *one)
{
	const struct vt_term_condition *conditions =
		m->rules->conditions.items + one->first_condition;

	for (unsigned i = 0; i < one->nr_conditions; i++)
		if (!holds(m, &conditions[i]))
			return 0;
	return 1;
}

/* The first section whose conditions all hold; NULL: none.  Nothing is kept without backward. */
static const struct vt_term_case *choose(struct maker *m, const struct vt_term_group *group)
{
	const struct vt_term_case *cases = m->rules->cases.items;

	for (unsigned i = group->first; i != VT_TERM_NO_CASE; i = cases[i].next)
		if ((m->has_backward || !cases[i].texts[VT_TERM_BYTES].text) &&
		    all_hold(m, &cases[i]))
			return &cases[i];
	return NULL;
}

static void make_value(struct maker *m, unsigned id)
{
	const struct vt_term_group *group = &m->rules->groups.items[id];
	const struct vt_term_case *one = choose(m, group);
	struct made *made = &m->values[id];

	made->is_made = 1;
	if (!one)
		return;
	if (one->texts[VT_TERM_NUMBER].text)
		made->own = vt_xasprintf("%.15g", evaluate(m, &one->texts[VT_TERM_NUMBER]));
	else if (!group->is_plain)
		made->own = expand(m, &one->texts[VT_TERM_IS]);
	made->text = made->own ? made->own : one->texts[VT_TERM_IS].text;
	if (!*made->text)
		made->text = NULL;
}

static const char *value_of(struct maker *m, unsigned id)
{
	if (!m->values[id].is_made)
		make_value(m, id);
	return m->values[id].text;
}

/* Stands as long as the rules do (check_plain of term_names.c). */
static const char *plain(struct maker *m, const struct vt_term_text *text)
{
	const struct vt_term_piece *piece = text->pieces;
	const char *found = piece->then.kind ? value_of(m, piece->then.id) : text->text;

	if (!found)
		vt_plan_fail(m->plan, "is empty", text->text);
	return found ? found : "";
}

static char *text_or(struct maker *m, const struct vt_term_case *one, enum vt_term_text_id id,
		     const char *usual)
{
	return one->texts[id].text ? expand(m, &one->texts[id]) : usual ? vt_xstrdup(usual) : NULL;
}

static int is_recomputed(struct maker *m, const struct vt_term_case *one)
{
	char *said = text_or(m, one, VT_TERM_RECOMPUTED, NULL);
	int is = said ? !strcmp(said, "yes")
		      : vt_plan_setting(m->plan, VT_SET_CHECKPOINTING) == VT_CHECKPOINTING_FULL;

	free(said);
	return is;
}

static void add(struct maker *m, const struct vt_term_spec *spec, char *formula)
{
	vt_plan_add(m->plan, spec, formula);
	free(formula);
}

/*
 * What layers keep for backward, in bytes per token and layer; without layers once.  Where it is
 * recomputed, one layer's worth at a time.
 */
static void add_kept(struct maker *m, const char *name, const struct vt_term_case *one)
{
	const char *owner = plain(m, &one->texts[VT_TERM_OWNER]);
	const char *why = plain(m, &one->texts[VT_TERM_WHY]);
	char *bytes = expand(m, &one->texts[VT_TERM_BYTES]);
	char *layers = text_or(m, one, VT_TERM_LAYERS, "1");
	char *tokens = text_or(m, one, VT_TERM_TOKENS, "T");
	int is_layers = one->texts[VT_TERM_LAYERS].text != NULL, is_again = is_recomputed(m, one);
	/* Of some layers the last ones go backward first, and are not recomputed. */
	int is_partial = is_again && is_layers && vt_term_facts_partial(m->plan);
	const struct vt_term_spec single = {
		owner,
		VT_IN(FIRST_LAYER) | VT_IN(BACKWARD_BOTTOM) |
			(is_again && !is_partial ? VT_IN(BACKWARD_TOP) : 0),
		is_again ? VT_PLAYED_RECOMPUTED : VT_PLAYED_PASSED_OVER,
		NULL,
		NULL,
		why,
		name
	};
	const struct vt_term_spec whole = {
		owner, VT_IN_WHOLE, is_layers ? VT_PLAYED_KEPT : VT_PLAYED_STAGED, NULL, NULL,
		why,   name
	};

	add(m, &single, vt_xasprintf("min(%s,1)*%s*(%s)", layers, tokens, bytes));
	if (is_partial)
		add(m, &whole, vt_xasprintf("max(%s-ck,0)*%s*(%s)", layers, tokens, bytes));
	else if (!is_again)
		add(m, &whole, vt_xasprintf("%s*%s*(%s)", layers, tokens, bytes));
	free(layers);
	free(tokens);
	free(bytes);
}

static void add_computed(struct maker *m, const char *name, const struct vt_term_case *one)
{
	char *low = text_or(m, one, VT_TERM_AT_LEAST, NULL);
	char *high = text_or(m, one, VT_TERM_AT_MOST, NULL);
	const struct vt_term_spec spec = {
		plain(m, &one->texts[VT_TERM_OWNER]), one->stages, one->played, low, high,
		plain(m, &one->texts[VT_TERM_WHY]),   name
	};

	add(m, &spec, expand(m, &one->texts[VT_TERM_FORMULA]));
	free(low);
	free(high);
}

/* Layers keep something for backward in training, where there are any. */
static int has_backward(const struct vt_plan *plan)
{
	return vt_plan_is_training(plan) && plan->model->stacks[VT_PART_TEXT].hidden &&
	       !plan->model->is_nominal;
}

static void add_group(struct maker *m, const struct vt_term_group *group)
{
	const struct vt_term_case *one = choose(m, group);
	const struct vt_term_case *failed = one ? one : &m->rules->cases.items[group->first];

	if (one && one->texts[VT_TERM_FORMULA].text)
		add_computed(m, group->name, one);
	else if (one)
		add_kept(m, group->name, one);
	/* The first that fails; a condition may have, of any of them. */
	if (!m->plan->error || m->plan->error_file || !m->rules->is_own)
		return;
	m->plan->error_file = failed->file;
	m->plan->error_line = failed->line;
}

void vt_terms_add(struct vt_plan *plan)
{
	const struct vt_term_rules *own = plan->settings->terms;
	struct maker m = { .plan = plan, .rules = own ? own : vt_term_rules_default() };
	size_t nr = m.rules->groups.len;

	m.has_backward = has_backward(plan);
	m.values = vt_xcalloc(nr ? nr : 1, sizeof(*m.values));
	for (size_t i = 0; i < nr; i++)
		if (m.rules->groups.items[i].is_term)
			add_group(&m, &m.rules->groups.items[i]);
	for (size_t i = 0; i < nr; i++)
		free(m.values[i].own);
	free(m.values);
}
