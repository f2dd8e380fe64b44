/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/report.h"

enum { OPTION_TOP = 256 };

static const struct vt_option options[] = {
	{ OPTION_TOP, "top", "N", "list that many stacks (default: 10)" },
	VT_VIEW_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "report",
	.synopsis = "[OPTION...] FILE",
	.summary = "Says where the device memory of a recorded run went.",
	.options = options,
};

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *top,
		struct vt_diag *diag)
{
	const struct vt_report_options wanted = {
		.when = view->when,
		.device = view->device,
		.top = (unsigned)*(const int *)top,
		.has_all_frames = view->has_all_frames,
	};
	struct vt_report report = { 0 };
	int rc = vt_report_init(&report, analysis, &wanted, diag);

	if (!rc && view->is_json)
		vt_report_json_print(&report, stdout);
	else if (!rc)
		vt_report_text_print(&report, view->path, stdout);
	vt_report_release(&report);
	return rc;
}

int vt_cmd_report(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int top = 10, id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (id == OPTION_TOP && vt_view_number(&spec, &top))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, &top);
}
