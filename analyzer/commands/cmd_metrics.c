/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/base/output.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/live/find.h"
#include "analyzer/live/metrics.h"

#define MOST_SECONDS 86400

enum { OPTION_EVERY = 256 };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "write to FILE, replacing it at once; .prom: for node_exporter" },
	{ OPTION_EVERY, "every", "SECONDS", "write again and again until the programs have ended" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "metrics",
	.synopsis = "[OPTION...] PID|FILE|FOLDER",
	.summary = "Prints what is in use now, by owner, as metrics for Prometheus.",
	.options = options,
};

struct wanted {
	const char *path;
	const char *output;
	int64_t every_s; /* 0: once */
};

/* Sets *is_running: a program still runs. */
static int print_once(const struct wanted *wanted, int *is_running, struct vt_diag *diag)
{
	const struct vt_rank_options rank_options = { .when = "end" };
	enum vt_metrics_format format = vt_util_has_suffix(wanted->output, ".prom") ?
						VT_METRICS_PROMETHEUS :
						VT_METRICS_OPENMETRICS;
	struct vt_ranks_runs runs = { 0 };
	struct vt_output output;
	int rc = -1;

	*is_running = 0;
	if (!vt_ranks_runs_init(&runs, wanted->path, &rank_options, 0, diag) &&
	    !vt_output_open(&output, wanted->output, 1, diag)) {
		vt_metrics_print(&runs, format, output.file);
		rc = vt_output_close(&output, 0, diag);
		for (uint32_t i = 0; i < runs.nr_files; i++)
			*is_running |= !runs.files[i].problem &&
				       !strcmp(runs.files[i].ended, "running");
	}
	vt_ranks_runs_release(&runs);
	return rc;
}

int vt_cmd_metrics(int argc, char **argv)
{
	struct wanted wanted = { .output = "-" };
	struct vt_diag diag = { 0 };
	int id, is_running, rc;
	char *path;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		if (id == 'o')
			wanted.output = optarg;
		else if (vt_numbers_parse(optarg, MOST_SECONDS, &wanted.every_s) || !wanted.every_s)
			return vt_options_wrong(&spec, "%s: not a number from 1 to %d", optarg,
						MOST_SECONDS);
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "needs a process, a recording or a folder");
	if (wanted.every_s && !strcmp(wanted.output, "-"))
		return vt_options_wrong(&spec, "--every needs -o FILE");
	/* Once: the process id of a program that has ended finds nothing. */
	path = vt_live_find(argv[optind], &diag);
	if (!path)
		return vt_diag_print(&diag);
	wanted.path = path;
	/* A recording that is there already would be replaced by text. */
	rc = vt_output_check(wanted.output, 1, &diag);
	is_running = !rc;
	while (is_running && !(rc = print_once(&wanted, &is_running, &diag)) && wanted.every_s &&
	       is_running) {
		struct timespec pause = { (time_t)wanted.every_s, 0 };

		nanosleep(&pause, NULL);
	}
	free(path);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
