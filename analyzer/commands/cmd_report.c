/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/base/diag.h"
#include "analyzer/ranks/folder.h"
#include "analyzer/ranks/ranks.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_warn.h"

enum { OPTION_TOP = 256, OPTION_STAGES, OPTION_BY, OPTION_RUN, OPTION_WARN };

#define NOT_GIVEN (-1)

struct wanted {
	int top;
	int has_marks;
	int is_by_keeper;
	int run; /* of a folder's; 0: not given */
	double warn_share;
	struct vt_report *report;
	struct vt_report_options *options; /* of the report, which keeps them */
};

static const struct vt_option options[] = {
	{ OPTION_TOP, "top", "N", "list N stacks (default: 10; for a folder 3)" },
	{ OPTION_STAGES, "stages", "WHAT",
	  "rows of the table of stages: auto (default), or the program's marks" },
	{ OPTION_BY, "by", "owner|keeper",
	  "group by owner (default), or by keeper: what keeps the bytes alive" },
	{ OPTION_RUN, "run", "N",
	  "run N of a folder (default: the last of those with most ranks)" },
	{ OPTION_WARN, "warn", "SHARE",
	  "list stages and steps that use more than this share of the device (0.85)" },
	VT_VIEW_OPTIONS("peak; for a folder most-allocated"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "report",
	.synopsis = "[OPTION...] FILE|FOLDER",
	.summary =
		"Shows where the device memory of a recorded run went, or compares its ranks.",
	.options = options,
};

static void begin(struct vt_analysis *analysis, const struct vt_view *view, const void *context)
{
	const struct wanted *wanted = context;

	*wanted->options = (struct vt_report_options){
		.when = view->when,
		.device = view->device,
		.top = (unsigned)wanted->top,
		.has_all_frames = view->has_all_frames,
		.has_marks = wanted->has_marks,
		.is_by_keeper = wanted->is_by_keeper,
		.warn_share = wanted->warn_share,
	};
	vt_report_begin(wanted->report, analysis, wanted->options);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *context,
		struct vt_diag *diag)
{
	const struct wanted *wanted = context;
	struct vt_report *report = wanted->report;
	int rc = vt_report_finish(report, diag);

	(void)analysis;
	if (!rc && view->is_json)
		vt_report_json_print(report, stdout);
	else if (!rc)
		vt_report_text_print(report, view->path, stdout);
	vt_report_release(report);
	return rc;
}

static int take_stages(struct wanted *wanted)
{
	wanted->has_marks = strcmp(optarg, "marks") == 0;
	if (wanted->has_marks || strcmp(optarg, "auto") == 0)
		return 0;
	vt_options_wrong(&spec, "--stages takes auto or marks, not \"%s\"", optarg);
	return -1;
}

static int take_by(struct wanted *wanted)
{
	wanted->is_by_keeper = strcmp(optarg, "keeper") == 0;
	if (wanted->is_by_keeper || strcmp(optarg, "owner") == 0)
		return 0;
	vt_options_wrong(&spec, "--by takes owner or keeper, not \"%s\"", optarg);
	return -1;
}

static int take_option(int id, struct wanted *wanted)
{
	if (id == OPTION_WARN && vt_report_warn_parse(optarg, &wanted->warn_share)) {
		vt_options_wrong(&spec, "--warn takes a share such as 0.85, not \"%s\"", optarg);
		return -1;
	}
	if (id == OPTION_WARN)
		return 0;
	if (id == OPTION_TOP)
		return vt_view_number(&spec, "top", &wanted->top);
	if (id == OPTION_RUN)
		return vt_view_number(&spec, "run", &wanted->run);
	return id == OPTION_STAGES ? take_stages(wanted) : take_by(wanted);
}

/* The recordings of a folder are the ranks of one run. */
static int show_ranks(const struct vt_view *view, const struct wanted *wanted)
{
	const struct vt_ranks_options ranks_options = {
		.rank = { .when = view->when, .rules = view->rules },
		.top = (unsigned)wanted->top,
		.run = (uint32_t)wanted->run,
		.has_all_frames = view->has_all_frames,
		.warn_share = wanted->warn_share,
	};
	struct vt_diag diag = { 0 };
	struct vt_ranks ranks;
	int rc;

	if (wanted->has_marks || wanted->is_by_keeper || view->device != VT_WHEN_ALL_DEVICES)
		return vt_options_wrong(&spec, "--stages, --by and --device are for one recording");
	rc = vt_ranks_init(&ranks, view->path, &ranks_options, &diag);
	if (!rc && view->is_json)
		vt_ranks_json_print(&ranks, stdout);
	else if (!rc)
		vt_ranks_text_print(&ranks, stdout);
	vt_ranks_release(&ranks);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_report(int argc, char **argv)
{
	struct vt_view view = { .device = VT_WHEN_ALL_DEVICES,
				.is_of_all_owners = 1,
				.begin = begin };
	struct vt_report report = { 0 };
	struct vt_report_options report_options = { 0 };
	struct wanted wanted = { .top = NOT_GIVEN,
				 .report = &report,
				 .options = &report_options };
	int id, is_folder;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
	if (id < 0)
		return vt_options_exit_code(id);
	is_folder = vt_folder_is_one(view.path);
	/* Device use is flat once the allocator has its segments: ranks would differ by chance. */
	if (!view.when)
		view.when = is_folder ? "most-allocated" : "peak";
	if (wanted.top == NOT_GIVEN)
		wanted.top = is_folder ? 3 : 10;
	if (is_folder)
		return show_ranks(&view, &wanted);
	if (wanted.run)
		return vt_options_wrong(&spec, "--run is for a folder");
	return vt_view_show(&view, show, &wanted);
}
