/* SPDX-License-Identifier: MIT */
#include "analyzer/check/budget.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/check/toml_file.h"
#include "analyzer/diagnosis/findings.h"

#define AMOUNT_WORDS                                                                               \
	"an amount such as \"2 GiB\", or an increase over the baseline such as \"+5%\" or \"+64 "  \
	"MiB\""

static const struct row {
	const char *table;
	const char *key;
} rows[VT_NR_LIMITS] = {
#define ROW(name, table, key) { table, key },
	VT_LIMITS(ROW)
#undef ROW
};

VT_VECTOR_DECLARE(limits, struct vt_limit);

struct reading {
	struct vt_budget *budget;
	struct limits limits;
	const struct vt_toml_value *value;
	struct vt_diag *diag;
	int are_baselines_given; /* those of the file are not asked for */
};

static int complain(const struct reading *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int complain(const struct reading *r, const char *format, ...)
{
	const struct vt_toml_value *value = r->value;
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	vt_diag_set(r->diag, VT_EXIT_UNREADABLE, "%s:%d: %s%s%s: %s", r->budget->path, value->line,
		    value->table, *value->table ? "." : "", value->key, text);
	return -1;
}

enum vt_budget_unit vt_budget_unit(const struct vt_limit *limit)
{
	switch (limit->what) {
	case VT_LIMIT_CACHED_SHARE:
		return VT_BUDGET_SHARE;
	case VT_LIMIT_LOST:
	case VT_LIMIT_ENDED:
		return VT_BUDGET_COUNT;
	default:
		return VT_BUDGET_BYTES;
	}
}

static int is_share(const struct vt_limit *limit)
{
	return vt_budget_unit(limit) == VT_BUDGET_SHARE;
}

/* Of bytes only: a share or a count has no noise of that kind. */
static uint64_t tolerated(const struct vt_budget *budget, const struct vt_limit *limit,
			  uint64_t base)
{
	struct vt_amount more = budget->tolerance;

	if (!limit->amount.is_relative || vt_budget_unit(limit) != VT_BUDGET_BYTES)
		return 0;
	more.is_relative = 1;
	return vt_amounts_most(&more, base) - base;
}

uint64_t vt_budget_most(const struct vt_budget *budget, const struct vt_limit *limit,
			uint64_t base, uint64_t spread)
{
	uint64_t more = tolerated(budget, limit, base);

	if (more < spread)
		more = spread;
	if (!is_share(limit))
		return vt_amounts_most(&limit->amount, base) + more;
	return (uint64_t)(limit->amount.percent * 100 + 0.5) +
	       (limit->amount.is_relative ? base + more : 0);
}

static int take_tolerance(struct reading *r)
{
	struct vt_amount *amount = &r->budget->tolerance;

	if (!r->value->text || r->value->is_element ||
	    vt_amounts_parse(r->value->text, amount) || amount->is_relative)
		return complain(
			r,
			"the difference that is allowed between equal runs, such as \"2 MiB\" "
			"or \"0.5%%\"");
	return 0;
}

static int take_warn(struct reading *r)
{
	if (r->value->kind == VT_TOML_EMPTY_ARRAY)
		return 0;
	if (r->value->kind != VT_TOML_STRING)
		return complain(r, "a list of limits, such as [\"total.reserved\"]");
	for (size_t i = 0; i < r->limits.len; i++)
		if (!strcmp(r->limits.items[i].name, r->value->text)) {
			r->limits.items[i].is_warning = 1;
			return 0;
		}
	return complain(r, "this file has no limit \"%s\"", r->value->text);
}

/* Takes the path. */
static void add_baseline(struct vt_budget *budget, char *path)
{
	char *before = budget->baseline;

	budget->baselines = vt_xrealloc(budget->baselines, (budget->nr_baselines + 1) *
								   sizeof(*budget->baselines));
	budget->baselines[budget->nr_baselines++] = path;
	budget->baseline = before ? vt_xasprintf("%s, %s", before, path) : vt_xstrdup(path);
	free(before);
}

static int take_baseline(struct reading *r)
{
	struct vt_budget *budget = r->budget;
	const char *path = r->value->text, *slash = strrchr(budget->path, '/');

	if (r->value->kind != VT_TOML_STRING || !*path)
		return complain(r,
				"the name of a recording or of the output of vtrace check --json, "
				"or a list of such");
	budget->baseline_line = r->value->line;
	if (r->are_baselines_given)
		return 0;
	/* From the budget's folder, which is where it was written. */
	add_baseline(budget, *path == '/' || !slash ?
		vt_xstrdup(path) :
		vt_xasprintf("%.*s/%s", (int)(slash - budget->path), budget->path, path));
	return 0;
}

#define MOST_WORDS 128 /* bytes of a list */

static void add_word(char list[MOST_WORDS], const char *word)
{
	size_t len = strlen(list);

	snprintf(list + len, MOST_WORDS - len, "%s%s", len ? ", " : "", word);
}

static void list_keys(char list[MOST_WORDS], const char *table)
{
	list[0] = '\0';
	for (int i = 0; i < VT_NR_LIMITS; i++)
		if (!strcmp(rows[i].table, table) && rows[i].key)
			add_word(list, rows[i].key);
}

/* Rows of a table are next to each other. */
static void list_tables(char list[MOST_WORDS])
{
	list[0] = '\0';
	for (int i = 0; i < VT_NR_LIMITS; i++)
		if (!i || strcmp(rows[i].table, rows[i - 1].table) != 0)
			add_word(list, rows[i].table);
}

static void list_stages(char list[MOST_WORDS])
{
	list[0] = '\0';
	for (int i = 0; i < VT_NR_STAGES; i++)
		add_word(list, vt_evidence_stages[i]);
}

static int find_row(const struct reading *r, enum vt_limit_what *what)
{
	const struct vt_toml_value *value = r->value;
	int has_table = 0;
	char words[MOST_WORDS];

	for (int i = 0; i < VT_NR_LIMITS; i++) {
		if (strcmp(rows[i].table, value->table) != 0)
			continue;
		has_table = 1;
		*what = (enum vt_limit_what)i;
		if (!rows[i].key || !strcmp(rows[i].key, value->key))
			return 0;
	}
	if (!has_table && *value->table) {
		list_tables(words);
		return complain(r, "unknown table [%s]; known: %s", value->table, words);
	}
	if (!has_table)
		return complain(r, "only \"baseline\", \"tolerance\" and \"warn\" may appear "
				   "outside a table");
	list_keys(words, value->table);
	return complain(r, "[%s] accepts only %s", value->table, words);
}

static int is_stage(const char *name)
{
	for (int i = 0; i < VT_NR_STAGES; i++)
		if (!strcmp(vt_evidence_stages[i], name))
			return 1;
	return 0;
}

static int check_subject(const struct reading *r, struct vt_limit *limit)
{
	char words[MOST_WORDS];
	int64_t number;

	if (limit->what == VT_LIMIT_STAGE && !is_stage(limit->subject)) {
		list_stages(words);
		return complain(r, "unknown stage; known: %s", words);
	}
	if (limit->what == VT_LIMIT_FINDING &&
	    vt_findings_find(limit->subject) == VT_NR_FINDINGS)
		return complain(r, "no finding is called \"%s\"", limit->subject);
	if (limit->what != VT_LIMIT_STEP)
		return 0;
	if (vt_numbers_parse(r->value->key, UINT32_MAX, &number) || !number)
		return complain(r, "[steps] accepts only peak, growth or a step number");
	limit->step = (uint32_t)number;
	return 0;
}

static int take_amount(const struct reading *r, struct vt_limit *limit)
{
	const struct vt_amount *amount = &limit->amount;

	if (!r->value->text || r->value->is_element)
		return complain(r, "%s", AMOUNT_WORDS);
	if (vt_amounts_parse(r->value->text, &limit->amount))
		return complain(r, "\"%s\" is not %s", r->value->text, AMOUNT_WORDS);
	if (is_share(limit) != amount->is_percent && (is_share(limit) || !amount->is_relative))
		return complain(r, is_share(limit) ?
				"\"%s\" is not a percentage such as \"20%%\"" :
				"\"%s\": a percentage is an increase over the baseline: \"+5%%\"",
				r->value->text);
	if (amount->is_relative && !r->budget->baseline)
		return complain(r, "\"%s\" needs a baseline: baseline = \"FILE\", or --baseline",
				r->value->text);
	return 0;
}

static int take_count(const struct reading *r, struct vt_limit *limit)
{
	if (r->value->kind != VT_TOML_INTEGER || r->value->is_element ||
	    vt_amounts_parse(r->value->text, &limit->amount))
		return complain(r, "a number, such as 0");
	return 0;
}

/* There is one way to end well. */
static int take_ending(const struct reading *r)
{
	if (r->value->kind != VT_TOML_STRING || r->value->is_element ||
	    strcmp(r->value->text, "normally") != 0)
		return complain(r, "\"normally\" (or omitted)");
	return 0;
}

static int take_most(const struct reading *r, struct vt_limit *limit)
{
	switch (limit->what) {
	case VT_LIMIT_FINDING:
		return 0;
	case VT_LIMIT_LOST:
		return take_count(r, limit);
	case VT_LIMIT_ENDED:
		return take_ending(r);
	default:
		return take_amount(r, limit);
	}
}

static int is_named_twice(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->limits.len; i++)
		if (!strcmp(r->limits.items[i].name, name))
			return 1;
	return 0;
}

static int add_limit(struct reading *r, enum vt_limit_what what, const char *subject)
{
	struct vt_limit limit = { .what = what, .line = r->value->line };

	limit.name = vt_printable_make(vt_xasprintf("%s.%s", r->value->table, subject));
	if (!rows[what].key || what == VT_LIMIT_FINDING)
		limit.subject = vt_xstrdup(subject);
	vt_vector_push(&r->limits, limit);
	if (check_subject(r, &r->limits.items[r->limits.len - 1]))
		return -1;
	return take_most(r, &r->limits.items[r->limits.len - 1]);
}

/* "all", a finding, or a list of them, which may be empty. */
static int take_findings(struct reading *r)
{
	char *name;
	int is_twice;

	if (r->value->kind == VT_TOML_EMPTY_ARRAY)
		return 0;
	if (r->value->kind != VT_TOML_STRING)
		return complain(r, "\"all\", or a list of findings such as [\"equal-buffers\"]");
	if (!strcmp(r->value->text, "all") && !r->value->is_element) {
		for (int i = 0; i < VT_NR_FINDINGS; i++)
			if (add_limit(r, VT_LIMIT_FINDING, vt_findings_words[i].id))
				return -1;
		return 0;
	}
	name = vt_xasprintf("findings.%s", r->value->text);
	is_twice = is_named_twice(r, name);
	free(name);
	if (is_twice)
		return complain(r, "\"%s\" is given twice", r->value->text);
	return add_limit(r, VT_LIMIT_FINDING, r->value->text);
}

static int take(struct reading *r)
{
	enum vt_limit_what what = VT_NR_LIMITS;

	if (find_row(r, &what))
		return -1;
	if (what == VT_LIMIT_FINDING)
		return take_findings(r);
	return add_limit(r, what, r->value->key);
}

/* What is said of all limits, outside of the tables. */
static const struct general {
	const char *key;
	int (*take)(struct reading *r);
	int is_last; /* it names limits */
} generals[] = {
	{ "baseline", take_baseline, 0 },
	{ "tolerance", take_tolerance, 0 },
	{ "warn", take_warn, 1 },
};

static const struct general *general_of(const struct vt_toml_value *value)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(generals) && !*value->table; i++)
		if (!strcmp(value->key, generals[i].key))
			return &generals[i];
	return NULL;
}

static int take_generals(struct reading *r, const struct vt_toml_file *file, int is_last)
{
	for (unsigned i = 0; i < file->nr; i++) {
		const struct general *general = general_of(&file->values[i]);

		r->value = &file->values[i];
		if (general && general->is_last == is_last && general->take(r))
			return -1;
	}
	return 0;
}

static int take_all(struct reading *r, const struct vt_toml_file *file)
{
	if (take_generals(r, file, 0))
		return -1;
	for (unsigned i = 0; i < file->nr; i++) {
		r->value = &file->values[i];
		if (!general_of(r->value) && take(r))
			return -1;
	}
	if (take_generals(r, file, 1))
		return -1;
	if (r->limits.len)
		return 0;
	vt_diag_set(r->diag, VT_EXIT_UNREADABLE, "%s: defines no limits", r->budget->path);
	return -1;
}

int vt_budget_read(struct vt_budget *budget, const char *path, const char *const *baselines,
		   unsigned nr, struct vt_diag *diag)
{
	struct reading r = { .budget = budget, .diag = diag };
	struct vt_toml_file file;
	int rc;

	memset(budget, 0, sizeof(*budget));
	budget->path = vt_xstrdup(path);
	for (unsigned i = 0; i < nr; i++)
		add_baseline(budget, vt_xstrdup(baselines[i]));
	r.are_baselines_given = nr != 0;
	rc = vt_toml_file_read(&file, path, diag);
	if (!rc)
		rc = take_all(&r, &file);
	vt_toml_file_release(&file);
	budget->limits = r.limits.items;
	budget->nr = (unsigned)r.limits.len;
	return rc;
}

void vt_budget_release(struct vt_budget *budget)
{
	for (unsigned i = 0; i < budget->nr; i++) {
		free(budget->limits[i].name);
		free(budget->limits[i].subject);
	}
	free(budget->limits);
	for (unsigned i = 0; i < budget->nr_baselines; i++)
		free(budget->baselines[i]);
	free(budget->baselines);
	free(budget->path);
	free(budget->baseline);
	memset(budget, 0, sizeof(*budget));
}
