/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/base/output.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/live/find.h"
#include "analyzer/live/http.h"
#include "analyzer/live/interrupt.h"
#include "analyzer/live/listener.h"
#include "analyzer/live/look.h"
#include "analyzer/live/metrics.h"

#define MOST_SECONDS 86400

#define TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
/* A text answers so long at least. */
#define LIFE_S	  1
#define NS_PER_MS 1000000ull
/* Between two looks whether the programs still run. */
#define PAUSE_MS 2000

enum { OPTION_EVERY = 256, OPTION_LISTEN };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE",
	  "write to FILE atomically; NAME.prom: text format for node_exporter" },
	{ OPTION_EVERY, "every", "SECONDS", "rewrite every SECONDS until the programs have ended" },
	{ OPTION_LISTEN, "listen", "[ADDRESS:]PORT",
	  "answer GET /metrics until the programs have ended (default: " VT_LISTENER_ADDRESS ")" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "metrics",
	.synopsis = "[OPTION...] PID|FILE|FOLDER",
	.summary = "Prints memory in use, by owner, as metrics for Prometheus.",
	.options = options,
};

struct wanted {
	const char *path;
	const char *output; /* NULL: standard output */
	int64_t every_s;    /* 0: once */
	char *address;	    /* NULL: no server */
	char *port;
};

static int print_once(const struct wanted *wanted, int *is_running, struct vt_diag *diag)
{
	const char *path = wanted->output ? wanted->output : "-";
	enum vt_metrics_format format = vt_util_has_suffix(path, ".prom") ?
						VT_METRICS_PROMETHEUS :
						VT_METRICS_OPENMETRICS;
	struct vt_look look;
	struct vt_output output;
	int rc = vt_look_init(&look, wanted->path, diag);

	if (!rc)
		rc = vt_output_open(&output, path, 1, diag);
	if (!rc) {
		vt_metrics_print(&look.runs, format, output.file);
		rc = vt_output_close(&output, 0, diag);
	}
	*is_running = look.is_running;
	vt_look_release(&look);
	return rc;
}

/* Metrics are replaced again and again; anything else is somebody's. */
static int check_output(const char *path, struct vt_diag *diag)
{
	static const char begin[] = "# HELP vtrace_";
	char head[sizeof(begin)] = "";
	int is_ours;
	FILE *file;

	if (vt_output_check(path, 1, diag))
		return -1;
	file = strcmp(path, "-") != 0 ? fopen(path, "re") : NULL;
	is_ours = !file || !fgets(head, sizeof(head), file) || !strcmp(head, begin);
	if (file)
		fclose(file);
	if (is_ours)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: exists and contains no vtrace metrics", path);
	return -1;
}

static int print_checked(const struct wanted *wanted, int *is_running, struct vt_diag *diag)
{
	if (wanted->output && check_output(wanted->output, diag))
		return -1;
	return print_once(wanted, is_running, diag);
}

static int print_again(const struct wanted *wanted, struct vt_diag *diag)
{
	const struct timespec pause = { (time_t)wanted->every_s, 0 };
	int is_running = 1, rc;

	while (!(rc = print_checked(wanted, &is_running, diag)) && wanted->every_s && is_running)
		nanosleep(&pause, NULL);
	return rc;
}

struct text {
	const char *path;
	char *data;
	size_t len;
	uint64_t end_ns; /* made anew after that */
	int is_running;
	int rc;
	struct vt_diag *diag;
};

static void make_text(struct text *text)
{
	struct vt_look look;
	FILE *out;

	free(text->data);
	text->data = NULL;
	text->rc = vt_look_init(&look, text->path, text->diag);
	text->is_running = look.is_running;
	out = text->rc ? NULL : open_memstream(&text->data, &text->len);
	if (out) {
		vt_metrics_print(&look.runs, VT_METRICS_OPENMETRICS, out);
		fclose(out);
	}
	text->end_ns = vt_clock_ns() + vt_look_pause_ms(&look, LIFE_S) * NS_PER_MS;
	vt_look_release(&look);
}

static const char *current_text(void *context, size_t *len)
{
	struct text *text = context;

	if (text->is_running && !text->rc && vt_clock_ns() >= text->end_ns)
		make_text(text);
	*len = text->len;
	return text->data;
}

static int serve(const struct wanted *wanted, struct vt_diag *diag)
{
	struct text text = { .path = wanted->path, .diag = diag };
	const struct vt_http_page page = { "/metrics", TYPE, current_text, &text };
	struct vt_listener listener;
	struct vt_http http;
	size_t len;

	if (vt_listener_open(&listener, wanted->address, wanted->port, diag))
		return -1;
	vt_interrupt_take();
	make_text(&text);
	vt_http_init(&http, &listener, &page);
	if (text.is_running)
		fprintf(stderr, "vtrace: listening on http://%s/metrics\n", listener.name);
	else if (!text.rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no recorded program is running",
			    wanted->path);
	while (text.is_running && !vt_interrupt_came()) {
		vt_http_serve(&http, PAUSE_MS);
		current_text(&text, &len);
	}
	vt_http_finish(&http);
	vt_http_release(&http);
	free(text.data);
	/* Ctrl-C ends the processes of a look, too. */
	return diag->exit_code && !vt_interrupt_came() ? -1 : 0;
}

/* 0, or what the command ends with. */
static int take_option(struct wanted *wanted, int id)
{
	if (id == 'o') {
		wanted->output = optarg;
	} else if (id == OPTION_LISTEN) {
		free(wanted->address);
		free(wanted->port);
		wanted->address = wanted->port = NULL;
		if (vt_listener_parse(optarg, &wanted->address, &wanted->port))
			return vt_options_wrong(
				&spec, "%s: not a port, ADDRESS:PORT or [ADDRESS]:PORT", optarg);
	} else if (vt_numbers_parse(optarg, MOST_SECONDS, &wanted->every_s) || !wanted->every_s) {
		return vt_options_wrong(&spec, "%s: not a number from 1 to %d", optarg,
					MOST_SECONDS);
	}
	return 0;
}

static int check_options(const struct wanted *wanted, int nr_operands)
{
	if (nr_operands != 1)
		return vt_options_wrong(&spec, "needs a process, a recording or a folder");
	if (wanted->address && (wanted->output || wanted->every_s))
		return vt_options_wrong(&spec, "--listen takes neither -o nor --every");
	if (wanted->every_s && (!wanted->output || !strcmp(wanted->output, "-")))
		return vt_options_wrong(&spec, "--every needs -o FILE");
	return 0;
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
	rc = wanted->address ? serve(wanted, &diag) : print_again(wanted, &diag);
	free(path);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_metrics(int argc, char **argv)
{
	struct wanted wanted = { 0 };
	int id, rc = 0;

	while (!rc && (id = vt_options_next(&spec, argc, argv)) > 0)
		rc = take_option(&wanted, id);
	if (!rc && id < 0)
		rc = vt_options_exit_code(id);
	else if (!rc)
		rc = check_options(&wanted, argc - optind);
	if (!rc && id == VT_OPTIONS_END)
		rc = run(&wanted, argv[optind]);
	free(wanted.address);
	free(wanted.port);
	return rc;
}
