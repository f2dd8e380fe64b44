/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/diag.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/export/export.h"

enum { OPTION_FORMAT = 256, OPTION_RUN };

static const struct vt_option options[] = {
	{ OPTION_FORMAT, "format", "FORMAT", "csv, or parquet (by DuckDB's command line)" },
	{ 'o', "output", "OUTPUT", "write into this folder, which is made, or empty" },
	{ OPTION_RUN, "run", "N",
	  "that run of a folder (default: the last of those with most ranks)" },
	{ VT_VIEW_AT, "at", "WHEN",
	  "the moment of the figures: " VT_MOMENTS_WORDS " (default: most-allocated)" },
	{ VT_VIEW_RULES, "rules", "FILE", "name bytes by these rules (default: built in)" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "export",
	.synopsis = "--format FORMAT -o OUTPUT [OPTION...] FILE|FOLDER",
	.summary = "Writes the tables of recordings, one file of each per rank.",
	.options = options,
};

static int take_format(struct vt_export_options *wanted, const char **format)
{
	*format = optarg;
	wanted->is_parquet = !strcmp(optarg, "parquet");
	if (wanted->is_parquet || !strcmp(optarg, "csv"))
		return 0;
	vt_options_wrong(&spec, "no format \"%s\": csv or parquet", optarg);
	return -1;
}

static int take_option(int id, struct vt_export_options *wanted, const char **format)
{
	int number;

	switch (id) {
	case OPTION_FORMAT:
		return take_format(wanted, format);
	case 'o':
		wanted->output = optarg;
		return 0;
	default:
		if (vt_view_number(&spec, &number))
			return -1;
		wanted->run = (uint32_t)number;
		return 0;
	}
}

int vt_cmd_export(int argc, char **argv)
{
	struct vt_view view = { .when = "most-allocated", .device = VT_WHEN_ALL_DEVICES };
	struct vt_export_options wanted = { 0 };
	const char *format = NULL;
	struct vt_diag diag = { 0 };
	uint32_t nr_ranks = 0;
	int id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted, &format))
			return VT_EXIT_USAGE;
	if (id < 0)
		return vt_options_exit_code(id);
	if (!format || !wanted.output)
		return vt_options_wrong(&spec, "needs --format and -o");
	wanted.rank.when = view.when;
	wanted.rank.rules = view.rules;
	if (vt_export_run(view.path, &wanted, &nr_ranks, &diag))
		return vt_diag_print(&diag);
	fprintf(stderr, "vtrace: tables of %u rank%s as %s in %s\n", nr_ranks,
		nr_ranks == 1 ? "" : "s", format, wanted.output);
	return VT_EXIT_OK;
}
