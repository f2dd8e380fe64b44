/* SPDX-License-Identifier: MIT */
#include "analyzer/base/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "common/nearest.h"

#define MAX_OPTIONS 80
#define HELP_ID     1000
#define MOST_TEXT   512

static void print_usage(FILE *out, const struct vt_options_spec *spec)
{
	fprintf(out, "usage: vtrace %s %s\n", spec->command, spec->synopsis);
}

static void print_row(int id, const char *name, const char *argument, const char *help)
{
	char left[80], letter[8] = "    ";

	if (id < 256)
		snprintf(letter, sizeof(letter), "-%c, ", id);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, name, argument ? " " : "",
		 argument ? argument : "");
	printf("  %-30s %s\n", left, help);
}

static void print_help(const struct vt_options_spec *spec)
{
	print_usage(stdout, spec);
	printf("\n%s\n\noptions:\n", spec->summary);
	for (const struct vt_option *o = spec->options; o->name; o++)
		print_row(o->id, o->name, o->argument, o->help);
	print_row('h', "help", NULL, "show this help");
	printf("\nmore: man vtrace-%s\n", spec->command);
}

int vt_options_wrong(const struct vt_options_spec *spec, const char *fmt, ...)
{
	char text[MOST_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "vtrace %s: %s\n", spec->command, vt_printable_make(text));
	print_usage(stderr, spec);
	return VT_EXIT_USAGE;
}

/* getopt's two tables from ours. */
static void make_tables(const struct vt_options_spec *spec, struct option *longs, char *letters)
{
	size_t n = 0, at = 0;

	if (spec->is_stopping_at_operand)
		letters[at++] = '+';
	letters[at++] = ':';
	for (const struct vt_option *o = spec->options; o->name && n + 2 < MAX_OPTIONS; o++) {
		longs[n++] = (struct option){ o->name, o->argument ? 1 : 0, NULL, o->id };
		if (o->id >= 256)
			continue;
		letters[at++] = (char)o->id;
		if (o->argument)
			letters[at++] = ':';
	}
	letters[at++] = 'h';
	letters[at] = '\0';
	longs[n++] = (struct option){ "help", 0, NULL, HELP_ID };
	longs[n] = (struct option){ NULL, 0, NULL, 0 };
}

static int has_option(const struct option *longs, int id)
{
	for (; longs->name; longs++)
		if (longs->val == id)
			return 1;
	return 0;
}

/* Set while a command's table is asked for. */
static const struct vt_options_spec **wanted_spec;

/* Names the one that was meant, where one is like it. */
static void tell_unknown(const struct vt_options_spec *spec, const char *word)
{
	char *name = vt_xstrndup(word, strcspn(word, "="));
	struct vt_nearest nearest;
	const char *meant;

	vt_nearest_init(&nearest, name + strspn(name, "-"));
	for (const struct vt_option *o = spec->options; o->name; o++)
		vt_nearest_offer(&nearest, o->name, strlen(o->name));
	meant = vt_nearest_meant(&nearest);
	if (meant)
		vt_options_wrong(spec, "%s: unknown option; did you mean --%s?", word, meant);
	else
		vt_options_wrong(spec, "%s: unknown option", word);
	free(name);
}

int vt_options_next(const struct vt_options_spec *spec, int argc, char **argv)
{
	struct option longs[MAX_OPTIONS];
	char letters[2 * MAX_OPTIONS + 4];
	int id;

	if (wanted_spec) {
		*wanted_spec = spec;
		return VT_OPTIONS_HELP;
	}
	make_tables(spec, longs, letters);
	opterr = 0;
	id = getopt_long(argc, argv, letters, longs, NULL);
	if (id == -1)
		return VT_OPTIONS_END;
	if (id == 'h' || id == HELP_ID) {
		print_help(spec);
		return VT_OPTIONS_HELP;
	}
	if (id != '?' && id != ':')
		return id;
	/* What exists was given an argument.  Letters may follow one dash together. */
	if (id == '?' && has_option(longs, optopt))
		vt_options_wrong(spec, "%s: takes no argument", argv[optind - 1]);
	else if (id == '?' && optopt > 0 && optopt <= UCHAR_MAX)
		vt_options_wrong(spec, "-%c: unknown option", optopt);
	else if (id == ':')
		vt_options_wrong(spec, "%s: needs an argument", argv[optind - 1]);
	else
		tell_unknown(spec, argv[optind - 1]);
	return VT_OPTIONS_WRONG;
}

int vt_options_exit_code(int end)
{
	return end == VT_OPTIONS_WRONG ? VT_EXIT_USAGE : VT_EXIT_OK;
}

const struct vt_options_spec *vt_options_of(int (*run)(int argc, char **argv), const char *name)
{
	char *arguments[] = { (char *)name, NULL };
	const struct vt_options_spec *spec = NULL;

	wanted_spec = &spec;
	run(1, arguments);
	wanted_spec = NULL;
	return spec;
}
