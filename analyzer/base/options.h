/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OPTIONS_H
#define VT_ANALYZER_OPTIONS_H

/*
 * Command line options: one table per command, which is both what is accepted and the text of
 * its help.
 *
 *	while ((id = vt_options_next(&spec, argc, argv)) > 0)
 *		switch (id) { case 'o': output = optarg; break; ... }
 *	if (id < 0)
 *		return vt_options_exit_code(id);
 *	operands: argv[optind] ...
 */

struct vt_option {
	int id;               /* the short letter, or a number from 256 on where there is none */
	const char *name;     /* long name without dashes */
	const char *argument; /* word for the argument in the help, NULL = takes none */
	const char *help;
};

struct vt_options_spec {
	const char *command;             /* "report" */
	const char *synopsis;            /* "[--json] FILE" */
	const char *summary;             /* one sentence */
	const struct vt_option *options; /* ended by a row whose name is NULL; --help is added */
	int is_stopping_at_operand; /* options after the first operand belong to somebody else */
};

enum vt_options_end {
	VT_OPTIONS_END = 0,
	VT_OPTIONS_WRONG = -1, /* a message and the usage line were printed */
	VT_OPTIONS_HELP = -2,  /* the help was printed */
};

/* The id of the next option with its argument in optarg, or one of enum vt_options_end. */
int vt_options_next(const struct vt_options_spec *spec, int argc, char **argv);
int vt_options_exit_code(int end);

/*
 * The table of a command: calls `run` up to its first vt_options_next, which every command begins
 * with.
 */
const struct vt_options_spec *vt_options_of(int (*run)(int argc, char **argv), const char *name);

/* Prints "vtrace COMMAND: MESSAGE" and the usage line on stderr; returns VT_EXIT_USAGE. */
int vt_options_wrong(const struct vt_options_spec *spec, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
