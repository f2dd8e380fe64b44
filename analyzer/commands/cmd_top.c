/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/live/find.h"
#include "analyzer/live/screen.h"
#include "analyzer/live/top.h"

#define MOST_SECONDS 86400
/* A look may take no more than this part of the time. */
#define LEAST_REST 10

enum { OPTION_EVERY = 256, OPTION_WINDOW, OPTION_ONCE };

static const struct vt_option options[] = {
	{ OPTION_EVERY, "every", "SECONDS", "look again after SECONDS (default: 2)" },
	{ OPTION_WINDOW, "window", "SECONDS", "what grew in SECONDS (default: 60)" },
	{ OPTION_ONCE, "once", NULL, "print once, as into a file or pipe" },
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

static int watch(const struct wanted *wanted, struct vt_diag *diag)
{
	struct vt_screen screen;
	int is_running, rc;

	vt_screen_open(&screen);
	do {
		uint64_t start = vt_clock_ns(), took, rest;

		vt_screen_measure(&screen);
		rc = look(wanted, &screen, &is_running, diag);
		took = vt_clock_ns() - start;
		rest = (uint64_t)wanted->every_s * 1000000000;
		if (rest < took * LEAST_REST)
			rest = took * LEAST_REST;
		if (rc || !is_running)
			break;
		if (vt_screen_wait(&screen, rest / 1000000))
			break;
	} while (1);
	vt_screen_close(&screen);
	return rc;
}

static int take_option(struct wanted *wanted, int id)
{
	int64_t *number = id == OPTION_EVERY ? &wanted->every_s : &wanted->window_s;

	if (id == OPTION_ONCE) {
		wanted->is_once = 1;
		return 0;
	}
	if (!vt_numbers_parse(optarg, MOST_SECONDS, number) && *number)
		return 0;
	vt_options_wrong(&spec, "%s: not a number from 1 to %d", optarg, MOST_SECONDS);
	return -1;
}

int vt_cmd_top(int argc, char **argv)
{
	struct wanted wanted = { .every_s = 2, .window_s = 60 };
	struct vt_diag diag = { 0 };
	int id, is_running, rc;
	char *path;

	while ((id = vt_options_next(&spec, argc, argv)) > 0)
		if (take_option(&wanted, id))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "needs a process, a recording or a folder");
	/* Once: the process id of a program that has ended finds nothing. */
	path = vt_live_find(argv[optind], &diag);
	if (!path)
		return vt_diag_print(&diag);
	wanted.path = path;
	if (wanted.is_once || !isatty(STDOUT_FILENO))
		rc = look(&wanted, NULL, &is_running, &diag);
	else
		rc = watch(&wanted, &diag);
	free(path);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
