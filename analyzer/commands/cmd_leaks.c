/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/leaks_report.h"
#include "common/size.h"

enum { OPTION_TOP = 256, OPTION_FAIL_ON };

static const struct vt_option options[] = {
	{ OPTION_TOP, "top", "N", "show N rows of each list (default: 10)" },
	{ OPTION_FAIL_ON, "fail-on", "SIZE",
	  "exit with 1 if memory grows by SIZE or more per step (or other iteration)" },
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "also show frames of PyTorch and the Python standard library" },
	VT_VIEW_REPLAY_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "leaks",
	.synopsis = "[OPTION...] FILE",
	.summary = "Finds memory that grows from step to step and is never freed.",
	.options = options,
};

struct wanted {
	int top;
	uint64_t fail_on_bytes; /* 0: never */
	int *is_exceeded;
};

/* What was not measured must not pass. */
static int judge(const struct vt_leaks_report *report, const struct vt_view *view,
		 const struct wanted *wanted, struct vt_diag *diag)
{
	if (!report->leaks.nr_points) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: --fail-on: growth unknown: too few iterations", view->path);
		return -1;
	}
	*wanted->is_exceeded = vt_leaks_report_growth(report) >= wanted->fail_on_bytes;
	return 0;
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer,
		struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	const struct vt_leaks_report_options asked = { .device = view->device,
						       .has_all_frames = view->has_all_frames,
						       .top = (unsigned)wanted->top };
	struct vt_leaks_report report;
	int rc = vt_leaks_report_init(&report, analysis, &asked, diag);

	if (!rc && view->is_json)
		vt_leaks_report_print_json(&report, stdout);
	else if (!rc)
		vt_leaks_report_print_text(&report, stdout);
	if (!rc && wanted->fail_on_bytes)
		rc = judge(&report, view, wanted, diag);
	vt_leaks_report_release(&report);
	return rc;
}

int vt_cmd_leaks(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int is_exceeded = 0, id, rc;
	struct wanted wanted = { .top = 10, .is_exceeded = &is_exceeded };

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0) {
		if (id == OPTION_TOP && vt_view_number(&spec, "top", &wanted.top))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
		if (id == OPTION_FAIL_ON &&
		    (vt_size_parse(optarg, &wanted.fail_on_bytes) || !wanted.fail_on_bytes))
			return vt_options_wrong(&spec, "\"%s\" is not a size such as 64MiB",
						optarg);
	}
	if (id < 0)
		return vt_options_exit_code(id);
	rc = vt_view_show(&view, show, &wanted);
	return rc == VT_EXIT_OK && is_exceeded ? VT_EXIT_DIFFERENCE : rc;
}
