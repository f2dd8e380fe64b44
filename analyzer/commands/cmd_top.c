/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/live/find.h"
#include "analyzer/live/interrupt.h"
#include "analyzer/live/screen.h"
#include "analyzer/live/top.h"
#include "analyzer/live/warnings.h"

#define MOST_SECONDS 86400
/* Lines of thresholds above the picture. */
#define MOST_WARNINGS 3

enum { OPTION_EVERY = 256, OPTION_WINDOW, OPTION_ONCE, OPTION_WARN, OPTION_THEN };

static const struct vt_option options[] = {
	{ OPTION_EVERY, "every", "SECONDS", "look again after SECONDS (default: 2)" },
	{ OPTION_WINDOW, "window", "SECONDS", "what grew in SECONDS (default: 60)" },
	{ OPTION_ONCE, "once", NULL, "print once, as into a file or pipe" },
	{ OPTION_WARN, "warn", "WHAT",
	  "say when so much is in use: 85%, 70GiB, OWNER=10GiB, +1GiB/min; may be repeated" },
	{ OPTION_THEN, "then", "COMMAND", "run COMMAND in a shell when a --warn is reached" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "top",
	.synopsis = "[OPTION...] PID|FILE|FOLDER",
	.summary = "Shows what is in use now, by owner, again and again. q ends.",
	.options = options,
};

struct wanted {
	const char *path;
	int64_t every_s, window_s;
	int is_once;
	struct vt_warnings warnings;
};

/* One look; a screen's size decides how much is shown. */
static int look(const struct wanted *wanted, struct vt_screen *screen, int *is_running,
		struct vt_diag *diag)
{
	/* Head, titles and places take twelve lines. */
	struct vt_top_options top_options = { .window_s = wanted->window_s, .top = 5 };
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int rc = -1;

	if (screen)
		top_options.nr_rows = screen->nr_rows > 18 ? screen->nr_rows - 13 : 5;
	out = open_memstream(&text, &size);
	if (out) {
		unsigned nr = vt_warnings_print_last(&wanted->warnings, MOST_WARNINGS, out);

		if (screen && top_options.nr_rows > nr)
			top_options.nr_rows -= nr;
		rc = vt_top_print(wanted->path, &top_options, is_running, out, diag);
		fclose(out);
	}
	if (!rc && screen)
		vt_screen_show(screen, text);
	else if (!rc)
		fputs(text, stdout);
	free(text);
	return rc;
}

static int warn(struct wanted *wanted, int *is_running, struct vt_diag *diag)
{
	if (!wanted->warnings.warn.rules.len)
		return 0;
	return vt_warnings_look(&wanted->warnings, wanted->path, is_running, diag);
}

static int watch(struct wanted *wanted, struct vt_diag *diag)
{
	struct vt_screen screen;
	int is_running, rc;

	wanted->warnings.is_on_screen = 1;
	vt_screen_open(&screen);
	do {
		uint64_t start = vt_clock_ns();

		vt_screen_measure(&screen);
		rc = warn(wanted, &is_running, diag);
		if (!rc)
			rc = look(wanted, &screen, &is_running, diag);
		if (rc || !is_running)
			break;
		if (vt_screen_wait(&screen, vt_warnings_pause_ms(wanted->every_s,
								 vt_clock_ns() - start)))
			break;
	} while (1);
	vt_screen_close(&screen);
	return rc;
}

/* No terminal: thresholds only. */
static int follow(struct wanted *wanted, struct vt_diag *diag)
{
	int is_running, rc;

	do {
		uint64_t start = vt_clock_ns();

		rc = warn(wanted, &is_running, diag);
		if (rc || !is_running ||
		    vt_interrupt_wait(vt_warnings_pause_ms(wanted->every_s, vt_clock_ns() - start)))
			break;
	} while (1);
	return rc;
}

static int look_once(struct wanted *wanted, struct vt_diag *diag)
{
	int is_running;

	if (warn(wanted, &is_running, diag))
		return -1;
	return look(wanted, NULL, &is_running, diag);
}

/* 0, or what the command ends with. */
static int take_option(struct wanted *wanted, int id)
{
	int64_t *number = id == OPTION_EVERY ? &wanted->every_s : &wanted->window_s;

	switch (id) {
	case OPTION_ONCE:
		wanted->is_once = 1;
		return 0;
	case OPTION_THEN:
		wanted->warnings.then.command = optarg;
		return 0;
	case OPTION_WARN:
		if (!vt_warnings_add(&wanted->warnings, optarg))
			return 0;
		return vt_options_wrong(&spec, "--warn %s: not " VT_WARN_RULE_EXAMPLES, optarg);
	default:
		if (!vt_numbers_parse(optarg, MOST_SECONDS, number) && *number)
			return 0;
		return vt_options_wrong(&spec, "%s: not a number from 1 to %d", optarg,
					MOST_SECONDS);
	}
}

static int run(struct wanted *wanted, const char *operand)
{
	struct vt_diag diag = { 0 };
	/* Once: the process id of a program that has ended finds nothing. */
	char *path = vt_live_find(operand, &diag);
	int rc;

	if (!path)
		return vt_diag_print(&diag);
	wanted->path = path;
	/* For the commands that it waits for at its end, too. */
	if (wanted->warnings.warn.rules.len)
		vt_interrupt_take();
	if (!wanted->is_once && isatty(STDOUT_FILENO))
		rc = watch(wanted, &diag);
	else if (!wanted->is_once && wanted->warnings.warn.rules.len)
		rc = follow(wanted, &diag);
	else
		rc = look_once(wanted, &diag);
	vt_warnings_end(&wanted->warnings);
	free(path);
	/* Ctrl-C ends the processes of a look, too. */
	if (rc && !vt_interrupt_came())
		return vt_diag_print(&diag);
	return wanted->warnings.warn.nr_reached ? VT_EXIT_DIFFERENCE : VT_EXIT_OK;
}

int vt_cmd_top(int argc, char **argv)
{
	struct wanted wanted = { .every_s = 2, .window_s = 60 };
	int id, rc = 0;

	while (!rc && (id = vt_options_next(&spec, argc, argv)) > 0)
		rc = take_option(&wanted, id);
	if (!rc && id < 0)
		rc = vt_options_exit_code(id);
	else if (!rc && argc - optind != 1)
		rc = vt_options_wrong(&spec, "needs a process, a recording or a folder");
	else if (!rc && wanted.warnings.then.command && !wanted.warnings.warn.rules.len)
		rc = vt_options_wrong(&spec, "--then needs a --warn");
	if (!rc && id == VT_OPTIONS_END)
		rc = run(&wanted, argv[optind]);
	vt_warnings_release(&wanted.warnings);
	return rc;
}
