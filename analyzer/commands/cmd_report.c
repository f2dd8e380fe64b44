/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/options.h"
#include "analyzer/report/report.h"
#include "analyzer/model/when.h"

enum { OPTION_AT = 256, OPTION_ALL_FRAMES, OPTION_DEVICE, OPTION_RULES, OPTION_TOP };

static const struct vt_option options[] = {
	{ OPTION_AT, "at", "WHEN", "the moment: " VT_WHEN_WORDS " (default: peak)" },
	{ OPTION_DEVICE, "device", "N", "only this CUDA device (default: all)" },
	{ OPTION_TOP, "top", "N", "list that many stacks (default: 10)" },
	{ OPTION_ALL_FRAMES, "all-frames", NULL,
	  "show frames of PyTorch and Python's library too" },
	{ OPTION_RULES, "rules", "FILE", "name bytes by these rules (default: built in)" },
	{ 'j', "json", NULL, "print JSON" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "report",
	.synopsis = "[OPTION...] FILE",
	.summary = "Says where the device memory of a recorded run went.",
	.options = options,
};

static int print_report(const char *path, const char *rules, int is_json,
			const struct vt_report_options *wanted)
{
	struct vt_diag diag = { 0 };
	struct vt_analysis analysis = { 0 };
	struct vt_report report = { 0 };
	int rc = -1;

	if (vt_analysis_open(&analysis, path, rules, &diag))
		goto out;
	if (vt_report_init(&report, &analysis, wanted, &diag))
		goto out;
	if (is_json)
		vt_report_json_print(&report, stdout);
	else
		vt_report_text_print(&report, path, stdout);
	rc = VT_EXIT_OK;
out:
	vt_report_release(&report);
	vt_analysis_close(&analysis);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_report(int argc, char **argv)
{
	struct vt_report_options wanted = { .when = "peak",
					    .device = VT_WHEN_ALL_DEVICES,
					    .top = 10 };
	const char *rules = NULL;
	int is_json = 0, id;
	int64_t number;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		switch (id) {
		case OPTION_AT:
			wanted.when = optarg;
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
		case OPTION_TOP:
			if (vt_numbers_parse(optarg, INT_MAX, &number))
				return vt_options_wrong(&spec, "\"%s\" is no number", optarg);
			if (id == OPTION_DEVICE)
				wanted.device = (int)number;
			else
				wanted.top = (unsigned)number;
			break;
		}
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, argc == optind ? "which recording?"
							      : "one recording at a time");
	return print_report(argv[optind], rules, is_json, &wanted);
}
