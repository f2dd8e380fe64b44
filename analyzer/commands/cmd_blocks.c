/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/groups.h"

enum { OPTION_SEGMENTS = 256, OPTION_BY };

/* What the options of this command alone ask for. */
struct wanted {
	int has_segments;
	int is_grouped;
	enum vt_groups_by by;
};

static const struct vt_option options[] = {
	{ OPTION_SEGMENTS, "segments", NULL, "also list segments that hold blocks" },
	{ OPTION_BY, "by", "WHAT", "group by owner or module" },
	VT_VIEW_OPTIONS("peak"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "blocks",
	.synopsis = "[OPTION...] FILE",
	.summary = "Lists the blocks live at one moment, largest first, with owners and stacks.",
	.options = options,
};

static void print_groups(struct vt_blocks *blocks, const struct vt_view *view, enum vt_groups_by by)
{
	struct vt_groups groups;

	vt_groups_init(&groups, blocks, by);
	if (view->is_json)
		vt_groups_print_json(&groups, blocks, stdout);
	else
		vt_groups_print_text(&groups, blocks, stdout);
	vt_groups_release(&groups);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *own,
		struct vt_diag *diag)
{
	const struct wanted *wanted = own;
	const struct vt_blocks_options blocks_options = {
		.when = view->when,
		.device = view->device,
		.has_segments = wanted->has_segments,
		.has_all_frames = view->has_all_frames,
	};
	struct vt_blocks blocks = { 0 };
	int rc = vt_blocks_init(&blocks, analysis, &blocks_options, diag);

	if (!rc && wanted->is_grouped)
		print_groups(&blocks, view, wanted->by);
	else if (!rc && view->is_json)
		vt_blocks_print_json(&blocks, stdout);
	else if (!rc)
		vt_blocks_print_text(&blocks, stdout);
	vt_blocks_release(&blocks);
	return rc;
}

int vt_cmd_blocks(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	struct wanted wanted = { 0 };
	int id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0) {
		if (id == OPTION_SEGMENTS)
			wanted.has_segments = 1;
		if (id != OPTION_BY)
			continue;
		wanted.is_grouped = 1;
		if (vt_groups_parse(optarg, &wanted.by))
			return vt_options_wrong(&spec, "cannot group by \"%s\"", optarg);
	}
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, &wanted);
}
