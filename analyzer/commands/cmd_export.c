/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/printable.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/export/export.h"
#include "analyzer/export/file.h"

enum { OPTION_FORMAT = 256, OPTION_RUN, OPTION_BY, OPTION_ALL, OPTION_FORCE };

static const struct vt_option options[] = {
	{ OPTION_FORMAT, "format", "FORMAT",
	  "tables: csv, parquet; one recording as one file: pytorch, perfetto, chrome, kineto,"
	  " memory-timeline, pprof, speedscope, folded" },
	{ 'o', "output", "OUTPUT",
	  "tables: output folder (created, or empty); otherwise the output file, - for stdout" },
	{ VT_VIEW_AT, "at", "WHEN",
	  "the moment: " VT_MOMENTS_WORDS " (default: most-allocated; pytorch: end)" },
	{ OPTION_BY, "by", "WHAT", "pprof, speedscope, folded: group by stack, owner or module" },
	{ VT_VIEW_DEVICE, "device", "N", "only this CUDA device (default: all); not for tables" },
	{ OPTION_ALL, "all", NULL, "do not shorten a long recording" },
	{ OPTION_FORCE, "force", NULL, "replace an existing file" },
	{ OPTION_RUN, "run", "N",
	  "tables: this run of a folder (default: the last of those with most ranks)" },
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "also show frames of PyTorch and the Python standard library; pytorch: native ones" },
	{ VT_VIEW_RULES, "rules", "FILE", "use these attribution rules (default: built-in)" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "export",
	.synopsis = "--format FORMAT -o OUTPUT [OPTION...] FILE|FOLDER",
	.summary = "Writes recordings as files that other programs open.",
	.options = options,
};

struct wanted {
	const char *format;
	int is_parquet;
	const struct vt_writer *writer; /* NULL: tables */
	const char *output;
	int run;
	int has_run;
	enum vt_writer_by by;
	int has_by;
	int is_whole;
	int is_forced;
};

static int take_format(struct wanted *wanted)
{
	char *names;

	wanted->format = optarg;
	wanted->is_parquet = !strcmp(optarg, "parquet");
	wanted->writer = vt_export_writer(optarg);
	if (wanted->writer || wanted->is_parquet || !strcmp(optarg, "csv"))
		return 0;
	names = vt_export_writer_names();
	vt_options_wrong(&spec, "no format \"%s\": csv, parquet, %s", optarg, names);
	free(names);
	return -1;
}

static int take_option(int id, struct wanted *wanted)
{
	switch (id) {
	case OPTION_FORMAT:
		return take_format(wanted);
	case 'o':
		wanted->output = optarg;
		return 0;
	case OPTION_BY:
		wanted->has_by = 1;
		if (!vt_export_parse_by(optarg, &wanted->by))
			return 0;
		vt_options_wrong(&spec, "cannot add up by \"%s\": stack, owner or module", optarg);
		return -1;
	case OPTION_ALL:
		wanted->is_whole = 1;
		return 0;
	case OPTION_FORCE:
		wanted->is_forced = 1;
		return 0;
	default:
		wanted->has_run = 1;
		return vt_view_number(&spec, "run", &wanted->run) ? -1 : 0;
	}
}

/* What an option that does not fit the format would have asked for is not done silently. */
static const char *find_misfit(const struct wanted *wanted, const struct vt_view *view)
{
	const struct vt_writer *writer = wanted->writer;

	if (wanted->has_by && (!writer || writer->scope != VT_WRITER_MOMENT))
		return "--by";
	if (writer && writer->scope == VT_WRITER_TIMELINE && view->when)
		return "--at";
	if (writer && wanted->has_run)
		return "--run";
	if (!writer && view->device != VT_WHEN_ALL_DEVICES)
		return "--device";
	if (!writer && wanted->is_forced)
		return "--force";
	if (!writer && !strcmp(wanted->output, "-"))
		return "-o -";
	return NULL;
}

static int export_tables(const struct wanted *wanted, const struct vt_view *view)
{
	const struct vt_export_options tables = {
		.rank = { .when = view->when ? view->when : "most-allocated",
			  .rules = view->rules },
		.output = wanted->output,
		.run = (uint32_t)wanted->run,
		.is_parquet = wanted->is_parquet,
	};
	struct vt_diag diag = { 0 };
	uint32_t nr_ranks = 0;
	char *output;

	if (vt_export_run(view->path, &tables, &nr_ranks, &diag))
		return vt_diag_print(&diag);
	output = vt_printable_copy(wanted->output);
	fprintf(stderr, "vtrace: tables of %u recording%s as %s in %s\n", nr_ranks,
		nr_ranks == 1 ? "" : "s", wanted->format, output);
	free(output);
	return VT_EXIT_OK;
}

static int export_file(const struct wanted *wanted, const struct vt_view *view)
{
	const struct vt_export_file_options file = {
		.writer = wanted->writer,
		.output = wanted->output,
		.when = view->when,
		.rules = view->rules,
		.device = view->device,
		.by = wanted->by,
		.is_whole = wanted->is_whole,
		.is_forced = wanted->is_forced,
		.has_all_frames = view->has_all_frames,
	};
	struct vt_diag diag = { 0 };
	struct vt_export_lack lack = { 0 };
	int rc = vt_export_file(view->path, &file, &lack, &diag);

	if (lack.left_out && !rc)
		fprintf(stderr, "vtrace: %s; --all writes everything\n", lack.left_out);
	if (lack.folded && !rc)
		fprintf(stderr, "vtrace: %s\n", lack.folded);
	free(lack.left_out);
	free(lack.folded);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_export(int argc, char **argv)
{
	struct vt_view view = { .device = VT_WHEN_ALL_DEVICES };
	struct wanted wanted = { 0 };
	const char *misfit;
	int id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted))
			return VT_EXIT_USAGE;
	if (id < 0)
		return vt_options_exit_code(id);
	if (!wanted.format || !wanted.output)
		return vt_options_wrong(&spec, "needs --format and -o");
	misfit = find_misfit(&wanted, &view);
	if (misfit)
		return vt_options_wrong(&spec, "%s does not apply to --format %s", misfit,
					wanted.format);
	return wanted.writer ? export_file(&wanted, &view) : export_tables(&wanted, &view);
}
