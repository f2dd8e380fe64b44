/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/live/find.h"
#include "analyzer/live/interrupt.h"
#include "analyzer/live/look.h"
#include "analyzer/live/screen.h"
#include "analyzer/live/threshold_watch.h"
#include "analyzer/live/top.h"

#define MOST_SECONDS 86400
/* Lines of thresholds above the picture. */
#define MOST_WARNINGS 3

enum { OPTION_EVERY = 256, OPTION_WINDOW, OPTION_ONCE, OPTION_WARN, OPTION_THEN };

static const struct vt_option options[] = {
	{ OPTION_EVERY, "every", "SECONDS", "refresh every SECONDS (default: 2)" },
	{ OPTION_WINDOW, "window", "SECONDS", "show what grew in the last SECONDS (default: 60)" },
	{ OPTION_ONCE, "once", NULL, "print once and exit, even on a terminal" },
	{ OPTION_WARN, "warn", "WHAT",
	  "report when usage reaches WHAT: 85%, 70GiB, OWNER=10GiB, +1GiB/min; may be repeated" },
	{ OPTION_THEN, "then", "COMMAND", "run COMMAND in a shell when a --warn is reached" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "top",
	.synopsis = "[OPTION...] PID|FILE|FOLDER",
	.summary = "Shows memory in use by owner, refreshed periodically; q quits.",
	.options = options,
};

struct wanted {
	const char *path;
	int64_t every_s, window_s;
	int is_once;
	struct vt_threshold_watch watch;
	/* Of the last look. */
	int is_running;
	uint64_t pause_ms;
};

/* A screen's size decides how much is shown; free(). */
static char *draw(const struct wanted *wanted, const struct vt_screen *screen, struct vt_look *look)
{
	/* Head, titles and places take twelve lines. */
	struct vt_top_options top_options = { .window_s = wanted->window_s, .top = 5 };
	unsigned taken = wanted->watch.thresholds.rules.len ? 13 + MOST_WARNINGS : 13;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (screen)
		top_options.nr_rows = screen->nr_rows > taken + 5 ? screen->nr_rows - taken : 5;
	if (out) {
		vt_top_print(look, wanted->path, &top_options, out);
		fclose(out);
	}
	return text ? text : vt_xstrdup("");
}

/* What thresholds said stands above. */
static void show(const struct wanted *wanted, struct vt_screen *screen, const char *drawn)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = screen ? open_memstream(&text, &size) : stdout;

	if (!out)
		return;
	vt_threshold_watch_print_last(&wanted->watch, MOST_WARNINGS, out);
	fputs(drawn, out);
	if (screen) {
		fclose(out);
		vt_screen_show(screen, text);
		free(text);
	}
}

/*
 * `screen`: NULL where there is none.  Thresholds are judged, and written into the recording, when
 * it is read no more.
 */
static int look(struct wanted *wanted, int is_shown, struct vt_screen *screen, struct vt_diag *diag)
{
	struct vt_look look;
	char *drawn = NULL;
	int rc = vt_look_init(&look, wanted->path, diag);

	if (!rc && is_shown)
		drawn = draw(wanted, screen, &look);
	vt_look_close(&look);
	if (!rc)
		vt_threshold_watch_judge(&wanted->watch, &look.runs);
	if (drawn)
		show(wanted, screen, drawn);
	free(drawn);
	wanted->is_running = look.is_running;
	wanted->pause_ms = vt_look_pause_ms(&look, wanted->every_s);
	vt_look_release(&look);
	return rc;
}

static int watch(struct wanted *wanted, struct vt_diag *diag)
{
	struct vt_screen screen;
	int rc;

	wanted->watch.is_on_screen = 1;
	vt_screen_open(&screen);
	do {
		vt_screen_measure(&screen);
		rc = look(wanted, 1, &screen, diag);
	} while (!rc && wanted->is_running && !vt_screen_wait(&screen, wanted->pause_ms));
	vt_screen_close(&screen);
	return rc;
}

/* No terminal: thresholds only. */
static int follow(struct wanted *wanted, struct vt_diag *diag)
{
	int rc;

	/* Nobody may read what is said: it is recorded, and commands run, all the same. */
	signal(SIGPIPE, SIG_IGN);
	do
		rc = look(wanted, 0, NULL, diag);
	while (!rc && wanted->is_running && !vt_interrupt_wait(wanted->pause_ms));
	return rc;
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
		wanted->watch.command.text = optarg;
		return 0;
	case OPTION_WARN:
		if (!vt_threshold_watch_add(&wanted->watch, optarg))
			return 0;
		return vt_options_wrong(&spec, "--warn %s: not " VT_THRESHOLD_RULE_EXAMPLES,
					optarg);
	default:
		if (!vt_numbers_parse(optarg, MOST_SECONDS, number) && *number)
			return 0;
		return vt_options_wrong(&spec, "--%s %s: not a number from 1 to %d",
					id == OPTION_EVERY ? "every" : "window", optarg,
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
	if (wanted->watch.thresholds.rules.len)
		vt_interrupt_take();
	if (!wanted->is_once && isatty(STDOUT_FILENO))
		rc = watch(wanted, &diag);
	else if (!wanted->is_once && wanted->watch.thresholds.rules.len)
		rc = follow(wanted, &diag);
	else
		rc = look(wanted, 1, NULL, &diag);
	vt_threshold_watch_end(&wanted->watch);
	free(path);
	/* Ctrl-C ends the processes of a look, too. */
	if (rc && !vt_interrupt_came())
		return vt_diag_print(&diag);
	return wanted->watch.thresholds.nr_reached ? VT_EXIT_DIFFERENCE : VT_EXIT_OK;
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
	else if (!rc && wanted.is_once && vt_threshold_watch_has_period(&wanted.watch))
		rc = vt_options_wrong(&spec, "--once: growth over time needs more than one sample");
	else if (!rc && wanted.watch.command.text && !wanted.watch.thresholds.rules.len)
		rc = vt_options_wrong(&spec, "--then needs a --warn");
	if (!rc && id == VT_OPTIONS_END)
		rc = run(&wanted, argv[optind]);
	vt_threshold_watch_release(&wanted.watch);
	return rc;
}
