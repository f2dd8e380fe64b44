/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/blocks.h"

enum { OPTION_SEGMENTS = 256 };

static const struct vt_option options[] = {
	{ OPTION_SEGMENTS, "segments", NULL, "list the memory that holds blocks, too" },
	VT_VIEW_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "blocks",
	.synopsis = "[OPTION...] FILE",
	.summary = "Lists what was live at one moment, largest first, with owner and stacks.",
	.options = options,
};

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *has_segments,
		struct vt_diag *diag)
{
	const struct vt_blocks_options wanted = {
		.when = view->when,
		.device = view->device,
		.has_segments = *(const int *)has_segments,
		.has_all_frames = view->has_all_frames,
	};
	struct vt_blocks blocks = { 0 };
	int rc = vt_blocks_init(&blocks, analysis, &wanted, diag);

	if (!rc && view->is_json)
		vt_blocks_print_json(&blocks, stdout);
	else if (!rc)
		vt_blocks_print_text(&blocks, stdout);
	vt_blocks_release(&blocks);
	return rc;
}

int vt_cmd_blocks(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int has_segments = 0, id;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		has_segments |= id == OPTION_SEGMENTS;
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, &has_segments);
}
