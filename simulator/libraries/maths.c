/* SPDX-License-Identifier: MIT */
#include "maths.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "../verbose.h"
#include "maths_rule.h"

/* clang-format off */
#define HANDLE(argument) {VTS_MATHS_WRITE_HANDLE, argument}
#define INT_0(argument) {VTS_MATHS_WRITE_INT_0, argument}
#define INT_1(argument) {VTS_MATHS_WRITE_INT_1, argument}
#define SIZE_0(argument) {VTS_MATHS_WRITE_SIZE_0, argument}
#define SIZE_1(argument) {VTS_MATHS_WRITE_SIZE_1, argument}
#define SIZE_2(argument) {VTS_MATHS_WRITE_SIZE_2, argument}
#define TEXT(argument) {VTS_MATHS_WRITE_TEXT, argument}
#define ZEROS_48(argument) {VTS_MATHS_WRITE_ZEROS_48, argument}
#define ZEROS_64(argument) {VTS_MATHS_WRITE_ZEROS_64, argument}
#define ZEROS_96(argument) {VTS_MATHS_WRITE_ZEROS_96, argument}
/* clang-format on */

static const struct vts_maths_rule rules[] = {
#define RULE(pattern, returns, ...) {pattern, returns, {__VA_ARGS__}},
#include "maths_rules.def"
#undef RULE
};

static const struct vts_maths_function *const function_tables[] = {
	vts_maths_cudnn_functions,
	vts_maths_nccl_functions,
	vts_maths_rnn_functions,
	vts_maths_version_functions,
};

/*
 * The assembly entries of functions with a rule and of functions without any answer (maths_call.S).
 */
void vts_maths_call(void);
void vts_maths_call_untold(void);

static const char *answer_text(void)
{
	return vts_maths_text;
}

static int ends_with(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);

	return len >= suffix_len && !strcmp(name + len - suffix_len, suffix);
}

static void *find_function(const char *name)
{
	const struct vts_maths_function *function;
	size_t i;

	for (i = 0; i < sizeof(function_tables) / sizeof(function_tables[0]); i++)
		for (function = function_tables[i]; function->name; function++)
			if (!strcmp(function->name, name))
				return function->address;
	if (ends_with(name, "ErrorString") || ends_with(name, "StatusString") ||
	    ends_with(name, "ErrorName") || ends_with(name, "LastError"))
		return (void *)answer_text;
	return NULL;
}

static const struct vts_maths_rule *find_rule(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!fnmatch(rules[i].pattern, name, 0))
			return &rules[i];
	return NULL;
}

static void bind_entry(struct vts_stub_entry *entry, int is_verbose)
{
	const struct vts_maths_rule *rule;
	void *function = find_function(entry->name);

	if (function) {
		entry->function = function;
		return;
	}
	rule = find_rule(entry->name);
	if (rule) {
		entry->data = rule;
		entry->function = (void *)vts_maths_call;
	} else if (is_verbose) {
		entry->function = (void *)vts_maths_call_untold;
	}
}

void vts_maths_bind(struct vts_stub_table *table)
{
	int is_verbose = vts_is_verbose();
	uint32_t i;

	for (i = 0; i < table->nr_entries; i++)
		bind_entry(&table->entries[i], is_verbose);
}
