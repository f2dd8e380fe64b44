/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <unistd.h>

#include "analyzer/report/blocks.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/model/when.h"

enum {
	OPTION_AT = 256,
	OPTION_ALL_FRAMES,
	OPTION_DEVICE,

	OPTION_RULES,
	OPTION_SEGMENTS
};

static const struct vt_option options[] = {
	{ OPTION_AT, "at", "WHEN", "the moment: " VT_WHEN_WORDS " (default: peak)" },
	{ OPTION_DEVICE, "device", "N", "only this CUDA device (default: all)" },
	{ OPTION_SEGMENTS, "segments", NULL, "list the memory that holds blocks, too" },
	{ OPTION_ALL_FRAMES, "all-frames", NULL,
	  "show frames of PyTorch and Python's library too" },
	{ OPTION_RULES, "rules", "FILE", "name bytes by these rules (default: built in)" },
	{ 'j', "json", NULL, "print JSON" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "blocks",
	.synopsis = "[OPTION...] FILE",
	.summary = "Lists what was live at one moment, largest first, with owner and stacks.",
	.options = options,
};

static int print_blocks(const char *path, const char *rules, int is_json,
			const struct vt_blocks_options *wanted)
{
	struct vt_diag diag = { 0 };
	struct vt_analysis analysis = { 0 };
	struct vt_blocks blocks = { 0 };
	int rc = -1;

	if (vt_analysis_open(&analysis, path, rules, &diag))
		goto out;
	if (vt_blocks_init(&blocks, &analysis, wanted, &diag))
		goto out;
	if (is_json)
		vt_blocks_print_json(&blocks, stdout);
	else
		vt_blocks_print_text(&blocks, stdout);
	rc = 0;
out:
	vt_blocks_release(&blocks);
	vt_analysis_close(&analysis);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_blocks(int argc, char **argv)
{
	struct vt_blocks_options wanted = { .when = "peak", .device = VT_WHEN_ALL_DEVICES };
	const char *rules = NULL;
	int is_json = 0, id;
	int64_t number;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		switch (id) {
		case OPTION_AT:
			wanted.when = optarg;
			break;
		case OPTION_SEGMENTS:
			wanted.has_segments = 1;
			break;
		case OPTION_ALL_FRAMES:
			wanted.has_all_frames = 1;
			break;
		case 'j':
			is_json = 1;
			break;
		case OPTION_RULES:
			rules = optarg;
			break;
		case OPTION_DEVICE:
			if (vt_numbers_parse(optarg, INT_MAX, &number))
				return vt_options_wrong(&spec, "\"%s\" is no number", optarg);
			wanted.device = (int)number;
			break;
		}
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, argc == optind ? "which recording?"
							      : "one recording at a time");
	return print_blocks(argv[optind], rules, is_json, &wanted);
}
