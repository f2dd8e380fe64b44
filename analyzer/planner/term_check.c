/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/term_check.h"

#include <ctype.h>
#include <string.h>

/* Values that are made of values. */
#define MAX_DEPTH 32

struct checker {
	struct vt_term_rules *rules;
	const char *file; /* of the section that is looked at */
	struct vt_diag *diag;
};

static int complain(struct checker *c, unsigned line, const char *what, const char *text)
{
	vt_diag_set(c->diag, VT_EXIT_UNREADABLE, "%s:%u: %s: %.100s", c->file, line, what, text);
	return -1;
}

/* ... of a group, at its first section. */
static int complain_of(struct checker *c, const struct vt_term_group *group, const char *what)
{
	const struct vt_term_case *first = &c->rules->cases.items[group->first];

	c->file = first->file;
	return complain(c, first->line, what, group->name);
}

/* Those of a section, one behind another. */
static const struct vt_term_condition *conditions_of(const struct vt_term_rules *rules,
						     const struct vt_term_case *one)
{
	return rules->conditions.items + one->first_condition;
}

/* --- keys ------------------------------------------------------------------------------------- */

#define HAS(text) (1u << VT_TERM_##text)
#define STAGED    (1u << VT_NR_TERM_TEXTS)
#define PLAYED    (1u << (VT_NR_TERM_TEXTS + 1))

static unsigned keys_of(const struct vt_term_case *one)
{
	unsigned keys = (one->stages ? STAGED : 0) | (one->played ? PLAYED : 0);

	for (int i = 0; i < VT_NR_TERM_TEXTS; i++)
		keys |= one->texts[i].text ? 1u << i : 0;
	return keys;
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const struct vt_term_group *group, const struct vt_term_case *one)
{
	const unsigned named = HAS(OWNER) | HAS(WHY), computed = HAS(FORMULA) | STAGED | PLAYED;
	unsigned keys = keys_of(one);

	if (!group->is_term)
		return keys == HAS(IS) || keys == HAS(NUMBER) ? NULL : "needs is, or number, alone";
	if ((keys & named) != named)
		return "needs owner and why";
	keys &= ~named;
	if (keys & HAS(BYTES))
		return keys & ~(HAS(BYTES) | HAS(LAYERS) | HAS(TOKENS) | HAS(RECOMPUTED))
			       ? "with bytes has layers, tokens and recomputed alone"
			       : NULL;
	if ((keys & computed) != computed)
		return "needs bytes, or stages, played and formula";
	return keys & ~(computed | HAS(AT_LEAST) | HAS(AT_MOST))
		       ? "with formula has at_least and at_most alone"
		       : NULL;
}

static int check_keys(struct checker *c, const struct vt_term_group *group)
{
	const struct vt_term_case *cases = c->rules->cases.items;

	for (unsigned i = group->first; i != VT_TERM_NO_CASE; i = cases[i].next) {
		const char *fault = fault_of(group, &cases[i]);

		if (!fault)
			continue;
		vt_diag_set(c->diag, VT_EXIT_UNREADABLE, "%s:%u: [%s %.100s] %s", cases[i].file,
			    cases[i].line, group->is_term ? "term" : "value", group->name, fault);
		return -1;
	}
	return 0;
}

/* --- what values are made of ------------------------------------------------------------------ */

static int measure(struct checker *c, struct vt_term_group *group, unsigned depth);

static int measure_reference(struct checker *c, struct vt_term_reference of, unsigned depth,
			     unsigned *most)
{
	struct vt_term_group *group;

	if (of.kind != VT_REFERENCE_VALUE)
		return 0;
	group = &c->rules->groups.items[of.id];
	group->is_used = 1;
	if (measure(c, group, depth + 1))
		return -1;
	if (group->height > *most)
		*most = group->height;
	return 0;
}

static int measure_text(struct checker *c, const struct vt_term_text *text, unsigned depth,
			unsigned *most)
{
	for (unsigned i = 0; i < text->nr; i++)
		if (measure_reference(c, text->pieces[i].then, depth, most))
			return -1;
	return 0;
}

static int measure_case(struct checker *c, const struct vt_term_case *one, unsigned depth,
			unsigned *most)
{
	for (unsigned i = 0; i < one->nr_conditions; i++) {
		const struct vt_term_condition *condition = &conditions_of(c->rules, one)[i];
		const struct vt_term_comparison *comparison = condition->comparison;

		if (measure_reference(c, condition->of, depth, most) ||
		    (comparison && (measure_text(c, &comparison->left, depth, most) ||
				    measure_text(c, &comparison->right, depth, most))))
			return -1;
	}
	for (int i = 0; i < VT_NR_TERM_TEXTS; i++)
		if (measure_text(c, &one->texts[i], depth, most))
			return -1;
	return 0;
}

/* How many values it is made of, one behind another; not itself among them. */
static int measure(struct checker *c, struct vt_term_group *group, unsigned depth)
{
	const struct vt_term_case *cases = c->rules->cases.items;
	unsigned most = 0;
	int rc = 0;

	if (group->height)
		return 0;
	if (group->is_open || depth > MAX_DEPTH)
		return complain_of(c, group,
				   group->is_open ? "refers to itself" : "nested too deeply");
	group->is_open = 1;
	for (unsigned i = group->first; i != VT_TERM_NO_CASE && !rc; i = cases[i].next)
		rc = measure_case(c, &cases[i], depth, &most);
	group->is_open = 0;
	group->height = most + 1;
	/* Some were measured before, so that the depth does not say it. */
	return rc || group->height <= MAX_DEPTH ? rc : complain_of(c, group, "nested too deeply");
}

/* Plans are made of these where they stand: owners and reasons are not put together. */
static int check_plain(struct checker *c, const struct vt_term_case *one, enum vt_term_text_id id)
{
	const struct vt_term_text *text = &one->texts[id];
	const struct vt_term_piece *piece = text->pieces;
	const char *key = id == VT_TERM_OWNER ? "owner" : "why";

	if (!text->text)
		return 0;
	c->file = one->file;
	if (!*text->text)
		return complain(c, text->line, "it is empty", key);
	if (text->nr == 1 &&
	    (!piece->then.kind || (!piece->len && piece->then.kind == VT_REFERENCE_VALUE &&
				   c->rules->groups.items[piece->then.id].is_plain)))
		return 0;
	return complain(c, text->line, "neither a text nor one {value} that has no others in it",
			text->text);
}

int vt_term_check_sections(struct vt_term_rules *rules, struct vt_diag *diag)
{
	struct checker c = { .rules = rules, .diag = diag };

	for (size_t i = 0; i < rules->groups.len; i++)
		if (check_keys(&c, &rules->groups.items[i]) ||
		    measure(&c, &rules->groups.items[i], 0))
			return -1;
	for (size_t i = 0; i < rules->cases.len; i++)
		if (check_plain(&c, &rules->cases.items[i], VT_TERM_OWNER) ||
		    check_plain(&c, &rules->cases.items[i], VT_TERM_WHY))
			return -1;
	return 0;
}

/* --- names of formulas ------------------------------------------------------------------------ */

static int is_function(const char *name, size_t len)
{
	static const char *const functions[] = { "min", "max", "ceil", "floor" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(functions); i++)
		if (strlen(functions[i]) == len && !memcmp(functions[i], name, len))
			return 1;
	return 0;
}

static int is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int check_piece(struct checker *c, const struct vt_symbols *symbols,
		       const struct vt_term_piece *piece, unsigned line)
{
	const char *at = piece->text, *end = at + piece->len;

	while (at < end) {
		size_t len = 0;

		while (at + len < end && is_of_name(at[len]))
			len++;
		if (isalpha((unsigned char)*at) && !is_function(at, len) &&
		    !vt_formula_find(symbols, at, len)) {
			vt_diag_set(c->diag, VT_EXIT_UNREADABLE, "%s:%u: no such name: %.*s",
				    c->file, line, (int)(len < 40 ? len : 40), at);
			return -1;
		}
		at += len ? len : 1;
	}
	return 0;
}

static int check_text(struct checker *c, const struct vt_symbols *symbols,
		      const struct vt_term_text *text)
{
	for (unsigned i = 0; i < text->nr; i++)
		if (check_piece(c, symbols, &text->pieces[i], text->line))
			return -1;
	return 0;
}

static int check_case(struct checker *c, const struct vt_term_rules *rules,
		      const struct vt_symbols *symbols, const struct vt_term_case *one)
{
	static const enum vt_term_text_id formulas[] = {
		VT_TERM_NUMBER, VT_TERM_FORMULA, VT_TERM_AT_LEAST, VT_TERM_AT_MOST,
		VT_TERM_BYTES,  VT_TERM_LAYERS,  VT_TERM_TOKENS,
	};

	c->file = one->file;
	for (size_t i = 0; i < VT_ARRAY_SIZE(formulas); i++)
		if (check_text(c, symbols, &one->texts[formulas[i]]))
			return -1;
	for (unsigned i = 0; i < one->nr_conditions; i++) {
		const struct vt_term_comparison *comparison =
			conditions_of(rules, one)[i].comparison;

		if (comparison && (check_text(c, symbols, &comparison->left) ||
				   check_text(c, symbols, &comparison->right)))
			return -1;
	}
	return 0;
}

int vt_term_check_symbols(const struct vt_term_rules *rules, const struct vt_symbols *symbols,
			  struct vt_diag *diag)
{
	struct checker c = { .diag = diag };

	for (size_t i = 0; i < rules->cases.len; i++)
		if (check_case(&c, rules, symbols, &rules->cases.items[i]))
			return -1;
	return 0;
}
