/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/report.h"

enum { OPTION_TOP = 256, OPTION_STAGES, OPTION_BY };

struct wanted {
	int top;
	int has_marks;
	int is_by_keeper;
};

static const struct vt_option options[] = {
	{ OPTION_TOP, "top", "N", "list that many stacks (default: 10)" },
	{ OPTION_STAGES, "stages", "WHAT",
	  "what the table of stages has rows for: auto (default), or the program's marks" },
	{ OPTION_BY, "by", "owner|keeper",
	  "add up by what bytes are, or by what keeps them alive (default: owner)" },
	VT_VIEW_OPTIONS("peak"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "report",
	.synopsis = "[OPTION...] FILE",
	.summary = "Says where the device memory of a recorded run went.",
	.options = options,
};

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *context,
		struct vt_diag *diag)
{
	const struct wanted *wanted = context;
	const struct vt_report_options report_options = {
		.when = view->when,
		.device = view->device,
		.top = (unsigned)wanted->top,
		.has_all_frames = view->has_all_frames,
		.has_marks = wanted->has_marks,
		.is_by_keeper = wanted->is_by_keeper,
	};
	struct vt_report report = { 0 };
	int rc = vt_report_init(&report, analysis, &report_options, diag);

	if (!rc && view->is_json)
		vt_report_json_print(&report, stdout);
	else if (!rc)
		vt_report_text_print(&report, view->path, stdout);
	vt_report_release(&report);
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
	if (id == OPTION_TOP)
		return vt_view_number(&spec, &wanted->top);
	return id == OPTION_STAGES ? take_stages(wanted) : take_by(wanted);
}

int vt_cmd_report(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	struct wanted wanted = { .top = 10 };
	int id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, &wanted);
}
