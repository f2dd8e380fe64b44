/* SPDX-License-Identifier: MIT */
#include "maths.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum write_kind {
	WRITE_NOTHING,
	WRITE_HANDLE,
	WRITE_INT_0,
	WRITE_INT_1,
	WRITE_SIZE_0,
	WRITE_SIZE_1,
	WRITE_SIZE_2,
	WRITE_TEXT,
	WRITE_ZEROS_48,
	WRITE_ZEROS_64,
	WRITE_ZEROS_96,
};

enum { MAX_WRITES = 3, NR_REGISTERS = 6, MAX_LIBRARIES = 32 };

struct rule {
	const char *pattern;
	uint64_t returns;
	struct {
		enum write_kind kind;
		int argument;
	} writes[MAX_WRITES];
};

/* clang-format off */
#define HANDLE(argument) {WRITE_HANDLE, argument}
#define INT_0(argument) {WRITE_INT_0, argument}
#define INT_1(argument) {WRITE_INT_1, argument}
#define SIZE_0(argument) {WRITE_SIZE_0, argument}
#define SIZE_1(argument) {WRITE_SIZE_1, argument}
#define SIZE_2(argument) {WRITE_SIZE_2, argument}
#define TEXT(argument) {WRITE_TEXT, argument}
#define ZEROS_48(argument) {WRITE_ZEROS_48, argument}
#define ZEROS_64(argument) {WRITE_ZEROS_64, argument}
#define ZEROS_96(argument) {WRITE_ZEROS_96, argument}
/* clang-format on */

static const struct rule rules[] = {
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

/* What every function says whose name promises a text. */
static const char text[] = "simulated by vtrace";

/*
 * The assembly entries of functions with a rule and of functions without any answer (maths_call.S).
 */
void vts_maths_call(void);
void vts_maths_call_untold(void);

void *vts_maths_new_handle(void)
{
	/*
	 * In no mapping of any process (not canonical): a dereference must fault, not read
	 * something.
	 */
	static uint64_t last = 0x5654000000000000u;

	return (void *)(uintptr_t)__atomic_add_fetch(&last, 64, __ATOMIC_RELAXED);
}

static void write_answer(enum write_kind kind, void *to)
{
	static const char zeros[96];
	const char *answer = text;
	void *handle;
	uint64_t size = kind == WRITE_SIZE_2 ? 2 : kind == WRITE_SIZE_1;
	int number = kind == WRITE_INT_1;

	if (!to)
		return;
	switch (kind) {
	case WRITE_NOTHING:
		break;
	case WRITE_HANDLE:
		handle = vts_maths_new_handle();
		memcpy(to, &handle, sizeof(handle));
		break;
	case WRITE_INT_0:
	case WRITE_INT_1:
		memcpy(to, &number, sizeof(number));
		break;
	case WRITE_SIZE_0:
	case WRITE_SIZE_1:
	case WRITE_SIZE_2:
		memcpy(to, &size, sizeof(size));
		break;
	case WRITE_TEXT:
		memcpy(to, &answer, sizeof(answer));
		break;
	case WRITE_ZEROS_48:
		memcpy(to, zeros, 48);
		break;
	case WRITE_ZEROS_64:
		memcpy(to, zeros, 64);
		break;
	case WRITE_ZEROS_96:
		memcpy(to, zeros, 96);
		break;
	}
}

uint64_t vts_maths_answer(const struct vts_stub_entry *entry, const uint64_t *registers,
			  const uint64_t *stack)
{
	const struct rule *rule = entry->data;
	uint64_t argument;
	int i;

	for (i = 0; i < MAX_WRITES && rule->writes[i].kind; i++) {
		argument = rule->writes[i].argument < NR_REGISTERS
				   ? registers[rule->writes[i].argument]
				   : stack[rule->writes[i].argument - NR_REGISTERS];
		write_answer(rule->writes[i].kind, (void *)(uintptr_t)argument);
	}
	return rule->returns;
}

static const char *answer_text(void)
{
	return text;
}

void vts_maths_tell(struct vts_stub_entry *entry)
{
	if (!__atomic_exchange_n(&entry->data, entry, __ATOMIC_RELAXED))
		fprintf(stderr, "vtrace simulator: %s returns success and does nothing\n",
			entry->name);
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

static const struct rule *find_rule(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!fnmatch(rules[i].pattern, name, 0))
			return &rules[i];
	return NULL;
}

static void bind_entry(struct vts_stub_entry *entry, int is_verbose)
{
	const struct rule *rule;
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
	int is_verbose = getenv("VTRACE_SIM_VERBOSE") != NULL;
	uint32_t i;

	for (i = 0; i < table->nr_entries; i++)
		bind_entry(&table->entries[i], is_verbose);
}

static struct {
	struct {
		char *soname;
		struct vts_release release;
	} libraries[MAX_LIBRARIES];
	unsigned int nr_libraries;
} g;

void vts_maths_note_release(const char *soname, struct vts_release release)
{
	const char *suffix = strstr(soname, ".so.");

	if (g.nr_libraries == MAX_LIBRARIES)
		return;
	if (!release.major && suffix)
		release.major = atoi(suffix + strlen(".so."));
	g.libraries[g.nr_libraries].soname = strdup(soname);
	g.libraries[g.nr_libraries++].release = release;
}

struct vts_release vts_maths_release_of(const char *stem)
{
	struct vts_release unknown = {0, 0, 0};
	size_t len = strlen(stem);
	unsigned int i;

	for (i = 0; i < g.nr_libraries; i++)
		if (g.libraries[i].soname && !strncmp(g.libraries[i].soname, stem, len) &&
		    g.libraries[i].soname[len] == '.')
			return g.libraries[i].release;
	return unknown;
}
