/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/term_names.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/printable.h"
#include "analyzer/planner/term_facts.h"

/* Of a text in a message. */
#define MAX_SHOWN 100

struct resolver {
	struct vt_term_rules *rules;
	struct vt_map names; /* of settings, facts and values: a kind and a number */
	const char *file;    /* of the section that is looked at */
	struct vt_diag *diag;
};

#define KIND_SHIFT 32

static int complain(struct resolver *r, unsigned line, const char *what, const char *text,
		    size_t len)
{
	char *shown = vt_printable_make(vt_xstrndup(text, len < MAX_SHOWN ? len : MAX_SHOWN));

	vt_diag_set(r->diag, VT_EXIT_UNREADABLE, "%s:%u: %s: %s", r->file, line, what, shown);
	free(shown);
	return -1;
}

/* ... of a group, at its first section. */
static int complain_of(struct resolver *r, const struct vt_term_group *group, const char *what)
{
	const struct vt_term_case *first = &r->rules->cases.items[group->first];

	r->file = first->file;
	return complain(r, first->line, what, group->name, strlen(group->name));
}

static void define(struct resolver *r, const char *name, enum vt_term_reference_kind kind,
		   size_t id)
{
	vt_map_put(&r->names, vt_map_text_key(name, strlen(name)),
		   (uint64_t)kind << KIND_SHIFT | id);
}

static struct vt_term_reference find(const struct resolver *r, const char *name, size_t len)
{
	const uint64_t *found = vt_map_find(&r->names, vt_map_text_key(name, len));
	struct vt_term_reference none = { VT_REFERENCE_NONE, 0 };

	return found ? (struct vt_term_reference){ (enum vt_term_reference_kind)(*found >>
										 KIND_SHIFT),
						   (unsigned)*found }
		     : none;
}

static int define_names(struct resolver *r)
{
	for (int id = 0; id < VT_NR_SETTINGS; id++)
		define(r, vt_plan_settings_row((enum vt_setting)id)->name, VT_REFERENCE_SETTING,
		       (size_t)id);
	for (unsigned id = 0; vt_term_facts_at(id); id++)
		define(r, vt_term_facts_at(id)->name, VT_REFERENCE_FACT, id);
	for (size_t i = 0; i < r->rules->groups.len; i++) {
		const struct vt_term_group *group = &r->rules->groups.items[i];

		if (group->is_term)
			continue;
		if (find(r, group->name, strlen(group->name)).kind)
			return complain_of(r, group, "the name of a setting or of a fact");
		define(r, group->name, VT_REFERENCE_VALUE, i);
	}
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Ends of names, and the text's own. */
static unsigned count_pieces(const char *text)
{
	unsigned nr = 0;

	for (const char *at = text; *at; at++)
		nr += *at == '}' || (at[1] == '\0');
	return nr;
}

static int split(struct resolver *r, struct vt_term_text *text)
{
	const char *at = text->text;

	if (!at || !*at)
		return 0;
	text->pieces = vt_xcalloc(count_pieces(at), sizeof(*text->pieces));
	while (*at) {
		struct vt_term_piece *piece = &text->pieces[text->nr];
		size_t len = strcspn(at, "{}"), name = 0;

		piece->text = at;
		piece->len = len;
		at += len;
		if (*at) {
			name = *at == '{' ? strcspn(at + 1, "{}") : 0;
			piece->then = find(r, at + 1, name);
			if (!name || at[1 + name] != '}' || !piece->then.kind)
				return complain(r, text->line, "no such name in { }", text->text,
						strlen(text->text));
			at += name + 2;
		}
		text->nr++;
	}
	return 0;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* The place of a word in a list, -1 where it is not in it. */
static int place_of(const char *words, struct vt_term_slice word)
{
	for (int place = 0; *words; place++) {
		size_t here = strcspn(words, " ");

		if (here == word.len && !memcmp(words, word.text, here))
			return place;
		words += here;
		words += strspn(words, " ");
	}
	return -1;
}

/* A word as the number that the setting or fact has then.  0, or -1. */
static int number_of(struct vt_term_reference of, struct vt_term_slice word, int64_t *number)
{
	const char *words = of.kind == VT_REFERENCE_FACT
				    ? vt_term_facts_at(of.id)->words
				    : vt_plan_settings_words((enum vt_setting)of.id);
	char digits[24];

	if (words) {
		*number = place_of(words, word);
		return *number < 0 ? -1 : 0;
	}
	if (word.len >= sizeof(digits))
		return -1;
	memcpy(digits, word.text, word.len);
	digits[word.len] = '\0';
	return vt_numbers_parse(digits, INT64_MAX, number);
}

/* The first word of what is left, which is cut off. */
static struct vt_term_slice next_word(struct vt_term_slice *left)
{
	struct vt_term_slice word;

	while (left->len && (*left->text == ' ' || *left->text == '\t')) {
		left->text++;
		left->len--;
	}
	word.text = left->text;
	for (word.len = 0;
	     word.len < left->len && word.text[word.len] != ' ' && word.text[word.len] != '\t';
	     word.len++)
		;
	left->text += word.len;
	left->len -= word.len;
	return word;
}

static int take_number(struct resolver *r, struct vt_term_condition *condition,
		       struct vt_term_slice word)
{
	int64_t *number = &condition->numbers[condition->nr_numbers++];

	if (condition->kind == VT_TERM_IS_GIVEN) {
		*number = vt_plan_settings_find(word.text, word.len);
		return *number < 0 ? complain(r, condition->line, "no such setting", word.text,
					      word.len)
				   : 0;
	}
	return number_of(condition->of, word, number)
		       ? complain(r, condition->line, "no value that it can have", word.text,
				  word.len)
		       : 0;
}

static int take_words(struct resolver *r, struct vt_term_condition *condition)
{
	struct vt_term_slice left = condition->value, word;

	if (!left.len)
		return complain(r, condition->line, "no words", condition->key.text,
				condition->key.len);
	if (condition->of.kind == VT_REFERENCE_VALUE) {
		vt_globs_init(&condition->words, left.text, left.len);
		return 0;
	}
	/* Each word has a blank before it, but for the first. */
	condition->numbers = vt_xcalloc(left.len / 2 + 1, sizeof(*condition->numbers));
	while ((word = next_word(&left)).len)
		if (take_number(r, condition, word))
			return -1;
	return 0;
}

/* "A >= B" */
static int take_comparison(struct resolver *r, struct vt_term_condition *condition)
{
	static const struct {
		const char *sign;
		enum vt_term_compare compare;
	} signs[] = {
		{ ">=", VT_IS_AT_LEAST }, { "<=", VT_IS_AT_MOST }, { "==", VT_IS_EQUAL },
		{ "!=", VT_IS_UNEQUAL },  { ">", VT_IS_GREATER },  { "<", VT_IS_LESS },
	};
	struct vt_term_comparison *made = vt_xcalloc(1, sizeof(*made));
	char *value, *at;

	condition->comparison = made;
	made->left.text = value = vt_xstrndup(condition->value.text, condition->value.len);
	made->left.line = made->right.line = condition->line;
	at = value + strcspn(value, "<>=!");
	for (size_t i = 0; i < VT_ARRAY_SIZE(signs); i++) {
		if (strncmp(at, signs[i].sign, strlen(signs[i].sign)) != 0)
			continue;
		made->compare = signs[i].compare;
		made->right.text = vt_xstrdup(at + strlen(signs[i].sign));
		*at = '\0';
		return split(r, &made->left) || split(r, &made->right) ? -1 : 0;
	}
	return complain(r, condition->line, "no comparison", value, strlen(value));
}

static int is_key(struct vt_term_slice key, const char *wanted)
{
	return strlen(wanted) == key.len && !memcmp(key.text, wanted, key.len);
}

static int resolve_condition(struct resolver *r, struct vt_term_condition *condition)
{
	static const char negation[] = "not_";
	struct vt_term_slice key = condition->key;

	if (key.len > strlen(negation) && !memcmp(key.text, negation, strlen(negation))) {
		condition->is_negated = 1;
		key.text += strlen(negation);
		key.len -= strlen(negation);
	}
	if (is_key(key, "where")) {
		condition->kind = VT_TERM_WHERE;
		return take_comparison(r, condition);
	}
	if (is_key(key, "given")) {
		condition->kind = VT_TERM_IS_GIVEN;
		return take_words(r, condition);
	}
	condition->of = find(r, key.text, key.len);
	if (!condition->of.kind)
		return complain(r, condition->line, "no such setting, fact or value", key.text,
				key.len);
	return take_words(r, condition);
}

/* --- sections --------------------------------------------------------------------------------- */

static int resolve_case(struct resolver *r, struct vt_term_group *group, struct vt_term_case *one)
{
	struct vt_term_condition *conditions = r->rules->conditions.items + one->first_condition;

	r->file = one->file;
	for (unsigned i = 0; i < one->nr_conditions; i++)
		if (resolve_condition(r, &conditions[i]))
			return -1;
	for (int i = 0; i < VT_NR_TERM_TEXTS; i++) {
		if (split(r, &one->texts[i]))
			return -1;
		for (unsigned j = 0; j < one->texts[i].nr; j++)
			group->is_plain &= !one->texts[i].pieces[j].then.kind;
	}
	group->is_plain &= !one->texts[VT_TERM_NUMBER].text;
	return 0;
}

static int resolve_group(struct resolver *r, struct vt_term_group *group)
{
	struct vt_term_case *cases = r->rules->cases.items;

	group->is_plain = 1;
	for (unsigned i = group->first; i != VT_TERM_NO_CASE; i = cases[i].next)
		if (resolve_case(r, group, &cases[i]))
			return -1;
	return 0;
}

static int resolve(struct resolver *r)
{
	struct vt_term_groups *groups = &r->rules->groups;

	if (define_names(r))
		return -1;
	for (size_t i = 0; i < groups->len; i++)
		if (resolve_group(r, &groups->items[i]))
			return -1;
	return 0;
}

int vt_term_names_resolve(struct vt_term_rules *rules, struct vt_diag *diag)
{
	struct resolver r = { .rules = rules, .diag = diag };
	int rc = resolve(&r);

	vt_map_release(&r.names);
	return rc;
}
