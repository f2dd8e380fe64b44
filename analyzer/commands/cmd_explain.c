/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/explain.h"
#include "analyzer/report/findings_print.h"

#define FINDING "finding:"

static const struct vt_option options[] = {
	VT_VIEW_OPTIONS("peak"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "explain",
	.synopsis = "[OPTION...] FILE ADDRESS|ID | finding:ID",
	.summary = "Tells all that is known about one block, and why its owner is its owner.",
	.options = options,
};

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *nothing,
		struct vt_diag *diag)
{
	const struct vt_explain_options wanted = {
		.what = view->what,
		.when = view->when,
		.device = view->device,
		.has_all_frames = view->has_all_frames,
	};
	struct vt_explain explain = { 0 };
	int rc = vt_explain_init(&explain, analysis, &wanted, diag);

	(void)nothing;
	if (!rc && view->is_json)
		vt_explain_json_print(&explain, stdout);
	else if (!rc)
		vt_explain_text_print(&explain, stdout);
	vt_explain_release(&explain);
	return rc;
}

/* What a finding means needs no recording. */
static int explain_finding(const char *id)
{
	enum vt_finding_id found = vt_findings_find(id);

	if (found == VT_NR_FINDINGS)
		return vt_options_wrong(&spec, "there is no finding \"%s\"", id);
	vt_findings_print_page(found, stdout);
	return VT_EXIT_OK;
}

int vt_cmd_explain(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int id;

	if (argc == 2 && strncmp(argv[1], FINDING, strlen(FINDING)) == 0)
		return explain_finding(argv[1] + strlen(FINDING));
	view.what_word = "block";
	id = vt_view_next(&view, &spec, argc, argv);
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, NULL);
}
