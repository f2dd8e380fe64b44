/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/term_rules.h"

#include <string.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/map.h"
#include "analyzer/base/printable.h"
#include "analyzer/planner/source.h"
#include "analyzer/planner/term_check.h"
#include "analyzer/planner/term_names.h"
#include "common/ini.h"

struct reader {
	struct vt_term_rules *rules;
	struct vt_map groups; /* by what their sections are called */
	const char *section;  /* where the entries of this section began; tells sections apart */
	const char *name;
	struct vt_diag *diag;
};

static int is_text(const char *text, size_t len, const char *wanted)
{
	return strlen(wanted) == len && !memcmp(text, wanted, len);
}

static int is_key(const struct vt_ini_entry *entry, const char *key)
{
	return is_text(entry->key, entry->key_len, key);
}

static int complain(struct reader *r, const struct vt_ini_entry *entry, const char *what)
{
	vt_diag_set(r->diag, VT_EXIT_UNREADABLE, "%s:%u: %s: %.*s = %.*s", r->name, entry->line,
		    what, (int)entry->key_len, entry->key, (int)entry->value_len, entry->value);
	return -1;
}

/* A copy; what a user wrote is printed. */
static char *copy_of(const struct reader *r, const char *text, size_t len)
{
	char *copy = vt_xstrndup(text, len);

	return r->rules->is_own ? vt_printable_make(copy) : copy;
}

static struct vt_term_case *last_case(struct reader *r)
{
	return &r->rules->cases.items[r->rules->cases.len - 1];
}

/* Kinds of stages that come together. */
static const struct {
	const char *word;
	unsigned stages;
} stage_groups[] = {
	{ "all", VT_IN_ALL },
	{ "training", VT_IN_TRAINING },
	{ "inference", VT_IN_INFERENCE },
	{ "backward", VT_IN_BACKWARD },
	{ "layers-kept", VT_IN_WHOLE },
};

/* A stage's name with "-" between its words: "backward-last-layer". */
static int is_stage(const char *name, const char *word, size_t len)
{
	size_t i;

	for (i = 0; *name && i < len; i++, name++) {
		if (*name == ':')
			name++;
		if (word[i] != (*name == ' ' ? '-' : *name))
			return 0;
	}
	return !*name && i == len;
}

/* 0: there is no such word. */
static unsigned stages_of(const char *word, size_t len)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(stage_groups); i++)
		if (is_text(word, len, stage_groups[i].word))
			return stage_groups[i].stages;
	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		if (is_stage(vt_plan_stage_name((enum vt_plan_stage)stage), word, len))
			return 1u << stage;
	return 0;
}

/* "training !first-layer": from left to right, "!" takes away. */
static int take_stages(struct reader *r, const struct vt_ini_entry *entry)
{
	struct vt_term_case *last = last_case(r);
	struct vt_globs words;
	int rc = 0;

	last->stages = 0;
	vt_globs_init(&words, entry->value, entry->value_len);
	for (unsigned i = 0; i < words.nr && !rc; i++) {
		const char *word = words.patterns[i] + (words.patterns[i][0] == '!');
		unsigned stages = stages_of(word, strlen(word));

		if (!stages)
			rc = complain(r, entry, "unknown stage");
		else if (words.patterns[i][0] == '!')
			last->stages &= ~stages;
		else
			last->stages |= stages;
	}
	vt_globs_release(&words);
	return rc;
}

static int take_played(struct reader *r, const struct vt_ini_entry *entry)
{
	static const char *const words[] = {
		[VT_PLAYED_UNSAID] = "",
		[VT_PLAYED_PARAMETERS] = "parameters",
		[VT_PLAYED_STAGED] = "staged",
		[VT_PLAYED_PASSING] = "passing",
		[VT_PLAYED_KEPT] = "kept",
		[VT_PLAYED_RECOMPUTED] = "recomputed",
		[VT_PLAYED_TRANSIENT] = "transient",
		[VT_PLAYED_GROWING] = "growing",
		[VT_PLAYED_HEADS] = "heads",
		[VT_PLAYED_LIBRARY] = "library",
		[VT_PLAYED_PASSED_OVER] = "passed-over",
	};

	for (size_t i = 1; i < VT_ARRAY_SIZE(words); i++) {
		if (!is_text(entry->value, entry->value_len, words[i]))
			continue;
		last_case(r)->played = (enum vt_played_kind)i;
		return 0;
	}
	return complain(r, entry, "unknown value of played");
}

static int take_text(struct reader *r, const struct vt_ini_entry *entry)
{
#define TEXT_KEY(id, key) key,
	static const char *const keys[] = { VT_TERM_TEXTS(TEXT_KEY) };
#undef TEXT_KEY

	for (int i = 0; i < VT_NR_TERM_TEXTS; i++) {
		struct vt_term_text *text = &last_case(r)->texts[i];

		if (!is_key(entry, keys[i]))
			continue;
		free(text->text);
		text->text = copy_of(r, entry->value, entry->value_len);
		text->line = entry->line;
		return 1;
	}
	return 0;
}

static int take_line(struct reader *r, const struct vt_ini_entry *entry)
{
	struct vt_term_condition condition = {
		.line = entry->line,
		.key = { entry->key, entry->key_len },
		.value = { entry->value, entry->value_len },
	};

	if (is_key(entry, "stages"))
		return take_stages(r, entry);
	if (is_key(entry, "played"))
		return take_played(r, entry);
	if (take_text(r, entry))
		return 0;
	last_case(r)->nr_conditions++;
	vt_vector_push(&r->rules->conditions, condition);
	return 0;
}

static int read_text(struct reader *r, const char *text, size_t len);

static int read_default(struct reader *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && vt_embedded_terms[i].name; i++) {
		r->name = vt_embedded_terms[i].name;
		rc = read_text(r, vt_embedded_terms[i].text, strlen(vt_embedded_terms[i].text));
	}
	return rc;
}

/* The built-in files stand where the user's asks for them; they ask for none. */
static int take_include(struct reader *r, const struct vt_ini_entry *entry)
{
	struct reader outer = *r;
	int rc;

	if (!is_key(entry, "terms") || !is_text(entry->value, entry->value_len, "default"))
		return complain(r, entry, "neither a section's line nor terms = default");
	rc = read_default(r);
	r->name = outer.name;
	r->section = outer.section;
	return rc;
}

/* The group of that section, a new one if its name is new. */
static struct vt_term_group *group_of(struct reader *r, const struct vt_ini_entry *entry,
				      const char *name, int is_term)
{
	struct vt_key key = vt_map_text_key(entry->section, entry->section_len);
	struct vt_term_group group = { .first = VT_TERM_NO_CASE, .is_term = is_term };
	struct vt_term_groups *groups = &r->rules->groups;
	const uint64_t *found = vt_map_find(&r->groups, key);

	if (found)
		return &groups->items[*found];
	group.name = copy_of(r, name, (size_t)(entry->section + entry->section_len - name));
	vt_map_put(&r->groups, key, groups->len);
	vt_vector_push(groups, group);
	return &groups->items[groups->len - 1];
}

static int begin_section(struct reader *r, const struct vt_ini_entry *entry)
{
	const char *blank = memchr(entry->section, ' ', entry->section_len);
	size_t len = blank ? (size_t)(blank - entry->section) : entry->section_len;
	int is_term = is_text(entry->section, len, "term");
	struct vt_term_case one = { .file = r->name,
				    .line = entry->line,
				    .next = VT_TERM_NO_CASE,
				    .first_condition = (unsigned)r->rules->conditions.len };
	unsigned id = (unsigned)r->rules->cases.len;
	struct vt_term_group *group;

	if (!blank || (!is_term && !is_text(entry->section, len, "value")))
		return complain(r, entry, "sections are [term NAME], [value NAME] and [include]");
	group = group_of(r, entry, blank + 1, is_term);
	vt_vector_push(&r->rules->cases, one);
	if (group->first == VT_TERM_NO_CASE)
		group->first = id;
	else
		r->rules->cases.items[group->last].next = id;
	group->last = id;
	r->section = entry->section;
	return 0;
}

static int take_entry(struct reader *r, const struct vt_ini_entry *entry)
{
	if (is_text(entry->section, entry->section_len, "include"))
		return take_include(r, entry);
	if (r->section != entry->section && begin_section(r, entry))
		return -1;
	return take_line(r, entry);
}

static int read_text(struct reader *r, const char *text, size_t len)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int rc;

	r->section = NULL;
	vt_ini_init(&ini, text, len);
	while ((rc = vt_ini_next(&ini, &entry)) == 1 && !(rc = take_entry(r, &entry)))
		;
	if (rc < 0)
		vt_diag_set(r->diag, VT_EXIT_UNREADABLE, "%s:%u: neither a section nor key = value",
			    r->name, ini.line);
	return rc < 0 ? -1 : 0;
}

int vt_term_rules_parse(struct vt_term_rules *rules, const char *name, const char *text, size_t len,
			struct vt_diag *diag)
{
	struct reader r = { .rules = rules, .name = name, .diag = diag };
	int rc;

	memset(rules, 0, sizeof(*rules));
	rules->is_own = 1;
	rc = read_text(&r, text, len);
	vt_map_release(&r.groups);
	if (!rc && !rules->groups.len) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: neither terms nor values", name);
		rc = -1;
	}
	if (!rc)
		rc = vt_term_names_resolve(rules, diag);
	return rc ? rc : vt_term_check_sections(rules, diag);
}

int vt_term_rules_load(struct vt_term_rules *rules, const char *path, struct vt_diag *diag)
{
	size_t len = 0;
	char *text = vt_source_read(path, &len, diag);
	int rc;

	memset(rules, 0, sizeof(*rules));
	rc = text ? vt_term_rules_parse(rules, path, text, len, diag) : -1;
	free(text);
	return rc;
}

const struct vt_term_rules *vt_term_rules_default(void)
{
	static struct vt_term_rules rules;
	struct reader r = { .rules = &rules };

	if (rules.groups.len)
		return &rules;
	/* A mistake in them is one of this program: tests/unit/test_term_rules.c. */
	if (!read_default(&r) && !vt_term_names_resolve(&rules, NULL))
		vt_term_check_sections(&rules, NULL);
	vt_map_release(&r.groups);
	return &rules;
}

static void release_text(struct vt_term_text *text)
{
	free(text->text);
	free(text->pieces);
}

static void release_condition(struct vt_term_condition *condition)
{
	vt_globs_release(&condition->words);
	free(condition->numbers);
	if (!condition->comparison)
		return;
	release_text(&condition->comparison->left);
	release_text(&condition->comparison->right);
	free(condition->comparison);
}

void vt_term_rules_release(struct vt_term_rules *rules)
{
	for (size_t i = 0; i < rules->conditions.len; i++)
		release_condition(&rules->conditions.items[i]);
	for (size_t i = 0; i < rules->cases.len; i++)
		for (int j = 0; j < VT_NR_TERM_TEXTS; j++)
			release_text(&rules->cases.items[i].texts[j]);
	for (size_t i = 0; i < rules->groups.len; i++)
		free(rules->groups.items[i].name);
	vt_vector_release(&rules->conditions);
	vt_vector_release(&rules->cases);
	vt_vector_release(&rules->groups);
	memset(rules, 0, sizeof(*rules));
}
