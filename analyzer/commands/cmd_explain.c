/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	.synopsis = "[OPTION...] FILE ADDRESS|ID | [--json] [FILE] finding:ID",
	.summary = "Shows everything known about one block, and why it has its owner.",
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

/* What a finding means needs no recording; one that is named all the same is not opened. */
static int explain_finding(const char *id, int is_json)
{
	enum vt_finding_id found = vt_findings_find(id);

	if (found == VT_NR_FINDINGS)
		return vt_options_wrong(&spec, "unknown finding \"%s\"", id);
	if (is_json)
		vt_findings_print_page_json(found, stdout);
	else
		vt_findings_print_page(found, stdout);
	return VT_EXIT_OK;
}

/* The last word, where it is a finding's and at most a recording stands before it. */
static const char *find_finding(int argc, char **argv)
{
	int nr = argc - optind;

	if (nr < 1 || nr > 2 || strncmp(argv[argc - 1], FINDING, strlen(FINDING)) != 0)
		return NULL;
	return argv[argc - 1] + strlen(FINDING);
}

int vt_cmd_explain(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	const char *finding;
	int id;

	view.what_word = "block";
	view.find_other = find_finding;
	id = vt_view_next(&view, &spec, argc, argv);
	if (id < 0)
		return vt_options_exit_code(id);
	finding = find_finding(argc, argv);
	if (finding)
		return explain_finding(finding, view.is_json);
	return vt_view_show(&view, show, NULL);
}
