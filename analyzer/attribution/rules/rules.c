/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/rules/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/rules/templates.h"
#include "analyzer/base/embedded.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "common/ini.h"
#include "common/size.h"

static int find_word(const char *const *words, size_t count, const char *text, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
			return (int)i;
	return -1;
}

static const char built_in[] = "built-in rules";

/* What a file is read into; vectors first, given to struct vt_rules at the end. */
struct parser {
	struct vt_rules *rules;
	VT_VECTOR(struct vt_rule) list;
	VT_VECTOR(struct vt_kind_rule) kinds;
	VT_VECTOR(struct vt_stage_rule) stages;
	VT_VECTOR(struct vt_condition) conditions; /* of the last rule */
	const char *section; /* where the entries of this section began; tells sections apart */
	unsigned int line;   /* of its first entry */
	const char *name;
	struct vt_diag *diag;
};

static int complain(struct parser *p, const struct vt_ini_entry *entry, const char *what)
{
	vt_diag_set(p->diag, VT_EXIT_UNREADABLE, "%s:%u: %s: %.*s = %.*s", p->name, entry->line,
		    what, (int)entry->key_len, entry->key, (int)entry->value_len, entry->value);
	return -1;
}

static int is_key(const struct vt_ini_entry *entry, const char *key)
{
	return strlen(key) == entry->key_len && memcmp(key, entry->key, entry->key_len) == 0;
}

static int parse_words(struct parser *p, const struct vt_ini_entry *entry,
		       struct vt_condition *condition)
{
	size_t count;
	const char *const *words = vt_fact_table_words(condition->fact, &count);
	struct vt_globs list;
	int word = 0;

	vt_globs_init(&list, entry->value, entry->value_len);
	for (unsigned i = 0; i < list.nr && word >= 0; i++) {
		word = find_word(words, count, list.patterns[i], strlen(list.patterns[i]));
		if (word >= 0)
			condition->words |= 1u << word;
	}
	vt_globs_release(&list);
	return word < 0 ? complain(p, entry, "unknown word") : 0;
}

static int parse_bytes(struct parser *p, const struct vt_ini_entry *entry,
		       struct vt_condition *condition)
{
	char *text = vt_xstrndup(entry->value, entry->value_len);
	int rc = vt_size_parse(text, &condition->bytes);

	free(text);
	return rc ? complain(p, entry, "not a size") : 0;
}

static int parse_condition(struct parser *p, struct vt_ini_entry *entry)
{
	static const char negation[] = "not_";
	struct vt_condition condition = { 0 };
	int fact;
	int rc = 0;

	if (entry->key_len > strlen(negation) &&
	    memcmp(entry->key, negation, strlen(negation)) == 0) {
		condition.is_negated = 1;
		entry->key += strlen(negation);
		entry->key_len -= strlen(negation);
	}
	for (fact = 0; fact < VT_NR_FACTS; fact++)
		if (is_key(entry, vt_fact_table_key((enum vt_fact)fact)))
			break;
	if (fact == VT_NR_FACTS)
		return complain(p, entry, "unknown key");
	condition.fact = (uint8_t)fact;
	condition.compare = (uint8_t)vt_fact_table_compare((enum vt_fact)fact);
	condition.id = p->rules->nr_conditions++;
	if (condition.compare == VT_COMPARE_WORDS)
		rc = parse_words(p, entry, &condition);
	else if (condition.compare == VT_COMPARE_BYTES)
		rc = parse_bytes(p, entry, &condition);
	else
		vt_globs_init(&condition.globs, entry->value, entry->value_len);
	vt_vector_push(&p->conditions, condition);
	return rc;
}

static int parse_provenance(struct parser *p, const struct vt_ini_entry *entry,
			    struct vt_rule *rule)
{
	int word = find_word(vt_evidence_provenances, VT_NR_PROVENANCES, entry->value,
			     entry->value_len);

	if (word < 0)
		return complain(p, entry, "unknown provenance");
	rule->provenance = (uint8_t)word;
	return 0;
}

static void replace(char **text, const struct vt_ini_entry *entry)
{
	free(*text);
	*text = vt_printable_make(vt_xstrndup(entry->value, entry->value_len));
}

static int parse_rule(struct parser *p, struct vt_ini_entry *entry)
{
	struct vt_rule *rule = &p->list.items[p->list.len - 1];

	if (is_key(entry, "owner"))
		replace(&rule->owner, entry);
	else if (is_key(entry, "leaf"))
		replace(&rule->leaf, entry);
	else if (is_key(entry, "reason"))
		replace(&rule->reason, entry);
	else if (is_key(entry, "known_by"))
		return parse_provenance(p, entry, rule);
	else
		return parse_condition(p, entry);
	return 0;
}

/* A key of a section that only holds lists of patterns. */
struct globs_key {
	const char *key;
	struct vt_globs *globs;
};

static int parse_globs(struct parser *p, const struct vt_ini_entry *entry,
		       const struct globs_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_key(entry, keys[i].key))
			continue;
		vt_globs_release(keys[i].globs);
		vt_globs_init(keys[i].globs, entry->value, entry->value_len);
		return 0;
	}
	return complain(p, entry, "unknown key");
}

static int parse_stage(struct parser *p, struct vt_ini_entry *entry)
{
	struct vt_stage_rule *stage = &p->stages.items[p->stages.len - 1];
	const struct globs_key keys[] = { { "scope", &stage->scope },
					  { "frame", &stage->frame },
					  { "method", &stage->method },
					  { "op", &stage->op } };

	return parse_globs(p, entry, keys, VT_ARRAY_SIZE(keys));
}

static int parse_kind(struct parser *p, struct vt_ini_entry *entry)
{
	struct vt_kind_rule *kind = &p->kinds.items[p->kinds.len - 1];
	const struct globs_key keys[] = { { "module", &kind->module },
					  { "op", &kind->op },
					  { "node", &kind->node },
					  { "weak_module", &kind->weak_module },
					  { "beside", &kind->beside } };

	return parse_globs(p, entry, keys, VT_ARRAY_SIZE(keys));
}

static int parse_set(struct parser *p, struct vt_ini_entry *entry, struct vt_operation_set *set)
{
	const struct globs_key keys[] = { { "node", &set->node },
					  { "op", &set->op },
					  { "module", &set->module } };

	return parse_globs(p, entry, keys, VT_ARRAY_SIZE(keys));
}

static int parse_loss(struct parser *p, struct vt_ini_entry *entry)
{
	return parse_set(p, entry, &p->rules->loss);
}

static int parse_normaliser(struct parser *p, struct vt_ini_entry *entry)
{
	return parse_set(p, entry, &p->rules->normaliser);
}

static int parse_product(struct parser *p, struct vt_ini_entry *entry)
{
	return parse_set(p, entry, &p->rules->product);
}

static int parse_passing(struct parser *p, struct vt_ini_entry *entry)
{
	return parse_set(p, entry, &p->rules->passing);
}

static int parse_token_model(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "module", &p->rules->token_model };

	return parse_globs(p, entry, &key, 1);
}

static int parse_choice(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "op", &p->rules->choice };

	return parse_globs(p, entry, &key, 1);
}

static int parse_copy(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "op", &p->rules->copy };

	return parse_globs(p, entry, &key, 1);
}

static int parse_join(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "op", &p->rules->join };

	return parse_globs(p, entry, &key, 1);
}

static int parse_data(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "op", &p->rules->data };

	return parse_globs(p, entry, &key, 1);
}

static int parse_plumbing(struct parser *p, struct vt_ini_entry *entry)
{
	const struct globs_key key = { "op", &p->rules->plumbing };

	return parse_globs(p, entry, &key, 1);
}

static int parse_text(struct parser *p, const char *text, size_t len);

/* The built-in rules stand where the file asks for them; they ask for none. */
static int parse_include(struct parser *p, struct vt_ini_entry *entry)
{
	static const char word[] = "default";
	struct parser outer = *p;
	int rc;

	if (!is_key(entry, "rules"))
		return complain(p, entry, "unknown key");
	if (entry->value_len != strlen(word) || memcmp(entry->value, word, strlen(word)) != 0)
		return complain(p, entry, "unknown rules");
	p->name = built_in;
	p->section = NULL;
	rc = parse_text(p, vt_embedded_rules, strlen(vt_embedded_rules));
	p->name = outer.name;
	p->section = outer.section;
	return rc;
}

/* As words behind the rule's name; NULL: nothing is wrong. */
static const char *fault_of(const struct vt_rule *rule, const struct vt_rule *first)
{
	if (!*rule->name)
		return "has no name";
	if (!rule->owner || !*rule->owner)
		return "has no owner";
	if (!rule->nr_conditions)
		return "has no condition";
	if (rule->provenance == VT_PROVENANCE_UNKNOWN)
		return "has no known_by";
	if (!vt_templates_is_valid(rule->owner) || !vt_templates_is_valid(rule->leaf))
		return "has an unknown placeholder";
	for (; first < rule; first++)
		if (!strcmp(first->name, rule->name))
			return "has the name of another rule";
	return NULL;
}

static enum vt_owner_form form_of(const char *owner)
{
	const char *open = strchr(owner, '{');

	if (!open)
		return VT_OWNER_FORM_TEXT;
	return strcmp(open, "{kind}") ? VT_OWNER_FORM_NAMED : VT_OWNER_FORM_KIND;
}

static int finish_rule(struct parser *p)
{
	struct vt_rule *rule = p->list.len ? &p->list.items[p->list.len - 1] : NULL;
	const char *fault;

	if (!rule || rule->conditions)
		return 0;
	rule->conditions = p->conditions.items;
	rule->nr_conditions = (unsigned)p->conditions.len;
	memset(&p->conditions, 0, sizeof(p->conditions));
	fault = fault_of(rule, p->list.items);
	if (!fault) {
		rule->owner_form = (uint8_t)form_of(rule->owner);
		rule->is_of_weights = !strcmp(rule->owner, VT_OWNER_WEIGHTS);
		return 0;
	}
	vt_diag_set(p->diag, VT_EXIT_UNREADABLE, "%s:%u: rule \"%s\" %s", p->name, p->line,
		    rule->name, fault);
	return -1;
}

static int begin_rule(struct parser *p, char *name)
{
	struct vt_rule rule = { .name = name, .provenance = VT_PROVENANCE_UNKNOWN };

	vt_vector_push(&p->list, rule);
	return 0;
}

static int begin_kind(struct parser *p, char *name)
{
	struct vt_kind_rule kind = { .name = name };

	vt_vector_push(&p->kinds, kind);
	return 0;
}

static int begin_stage(struct parser *p, char *name)
{
	int word = find_word(vt_evidence_stages, VT_NR_STAGES, name, strlen(name));
	struct vt_stage_rule stage = { .stage = (uint8_t)word };

	free(name);
	if (word < 0)
		return -1;
	vt_vector_push(&p->stages, stage);
	return 0;
}

static int begin_set(struct parser *p, char *name)
{
	(void)p;
	free(name);
	return 0;
}

/* The kinds of sections.  `begin` takes the name. */
static const struct section_type {
	const char *word;
	int (*begin)(struct parser *p, char *name);
	int (*entry)(struct parser *p, struct vt_ini_entry *entry);
} section_types[] = {
	{ "rule", begin_rule, parse_rule },        { "kind", begin_kind, parse_kind },
	{ "stage", begin_stage, parse_stage },     { "loss", begin_set, parse_loss },
	{ "product", begin_set, parse_product },   { "token_model", begin_set, parse_token_model },
	{ "plumbing", begin_set, parse_plumbing }, { "choice", begin_set, parse_choice },
	{ "copy", begin_set, parse_copy },         { "join", begin_set, parse_join },
	{ "passing", begin_set, parse_passing },   { "data", begin_set, parse_data },
	{ "include", begin_set, parse_include },   { "normaliser", begin_set, parse_normaliser },
};

static const struct section_type *find_section(const struct vt_ini_entry *entry, size_t *word_len)
{
	const char *blank = memchr(entry->section, ' ', entry->section_len);

	*word_len = blank ? (size_t)(blank - entry->section) : entry->section_len;
	for (size_t i = 0; i < VT_ARRAY_SIZE(section_types); i++)
		if (strlen(section_types[i].word) == *word_len &&
		    memcmp(section_types[i].word, entry->section, *word_len) == 0)
			return &section_types[i];
	return NULL;
}

static int take_entry(struct parser *p, struct vt_ini_entry *entry)
{
	size_t word_len;
	const struct section_type *type = find_section(entry, &word_len);

	if (!type)
		return complain(p, entry, "unknown section");
	if (p->section != entry->section) {
		size_t skip = word_len < entry->section_len ? word_len + 1 : word_len;

		if (finish_rule(p))
			return -1;
		p->section = entry->section;
		p->line = entry->line;
		if (type->begin(p, vt_printable_make(vt_xstrndup(entry->section + skip,
								 entry->section_len - skip))))
			return complain(p, entry, "unknown stage");
	}
	return type->entry(p, entry);
}

static int parse_text(struct parser *p, const char *text, size_t len)
{
	struct vt_ini_entry entry;
	struct vt_ini ini;
	int rc;

	vt_ini_init(&ini, text, len);
	while ((rc = vt_ini_next(&ini, &entry)) == 1 && !(rc = take_entry(p, &entry)))
		;
	if (rc < 0)
		vt_diag_set(p->diag, VT_EXIT_UNREADABLE,
			    "%s:%u: neither a section nor key = value", p->name, ini.line);
	/* Also where it failed: what was read must not get lost. */
	return finish_rule(p) || rc < 0 ? -1 : 0;
}

int vt_rules_parse(struct vt_rules *rules, const char *name, const char *text, size_t len,
		   struct vt_diag *diag)
{
	struct parser p = { .rules = rules, .name = name, .diag = diag };
	int rc;

	memset(rules, 0, sizeof(*rules));
	rc = parse_text(&p, text, len);
	rules->rules = p.list.items;
	rules->nr_rules = (unsigned)p.list.len;
	rules->kinds = p.kinds.items;
	rules->nr_kinds = (unsigned)p.kinds.len;
	rules->stages = p.stages.items;
	rules->nr_stages = (unsigned)p.stages.len;
	return rc;
}

static int read_file(const char *path, struct vt_buffer *text, struct vt_diag *diag)
{
	char bytes[4096];
	size_t got;
	FILE *file = fopen(path, "re");
	int rc = 0;

	if (!file) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		return -1;
	}
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		vt_buffer_append(text, bytes, got);
	if (ferror(file)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		rc = -1;
	}
	fclose(file);
	return rc;
}

int vt_rules_load(struct vt_rules *rules, const char *path, struct vt_diag *diag)
{
	struct vt_buffer text;
	int rc;

	memset(rules, 0, sizeof(*rules));
	if (!path)
		return vt_rules_parse(rules, built_in, vt_embedded_rules,
				      strlen(vt_embedded_rules), diag);
	vt_buffer_init(&text);
	rc = read_file(path, &text, diag);
	if (!rc)
		rc = vt_rules_parse(rules, path, text.data ? text.data : "", text.len, diag);
	vt_buffer_release(&text);
	return rc;
}

static void release_rule(struct vt_rule *rule)
{
	for (unsigned i = 0; i < rule->nr_conditions; i++)
		vt_globs_release(&rule->conditions[i].globs);
	free(rule->conditions);
	free(rule->name);
	free(rule->owner);
	free(rule->leaf);
	free(rule->reason);
}

static void release_set(struct vt_operation_set *set)
{
	vt_globs_release(&set->node);
	vt_globs_release(&set->op);
	vt_globs_release(&set->module);
}

void vt_rules_release(struct vt_rules *rules)
{
	for (unsigned i = 0; i < rules->nr_rules; i++)
		release_rule(&rules->rules[i]);
	for (unsigned i = 0; i < rules->nr_kinds; i++) {
		free(rules->kinds[i].name);
		vt_globs_release(&rules->kinds[i].module);
		vt_globs_release(&rules->kinds[i].op);
		vt_globs_release(&rules->kinds[i].node);
		vt_globs_release(&rules->kinds[i].weak_module);
		vt_globs_release(&rules->kinds[i].beside);
	}
	for (unsigned i = 0; i < rules->nr_stages; i++) {
		vt_globs_release(&rules->stages[i].scope);
		vt_globs_release(&rules->stages[i].frame);
		vt_globs_release(&rules->stages[i].method);
		vt_globs_release(&rules->stages[i].op);
	}
	release_set(&rules->loss);
	release_set(&rules->normaliser);
	release_set(&rules->product);
	release_set(&rules->passing);
	vt_globs_release(&rules->token_model);
	vt_globs_release(&rules->choice);
	vt_globs_release(&rules->copy);
	vt_globs_release(&rules->join);
	vt_globs_release(&rules->data);
	vt_globs_release(&rules->plumbing);
	free(rules->rules);
	free(rules->kinds);
	free(rules->stages);
	memset(rules, 0, sizeof(*rules));
}
