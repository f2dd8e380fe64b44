/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/ranks/recording_list.h"

static const struct vt_option options[] = {
	{ 'j', "json", NULL, "print JSON" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "list",
	.synopsis = "[--json] [FOLDER|FILE]",
	.summary = "Lists the recordings of a folder (default: the current one), or one recording.",
	.options = options,
};

int vt_cmd_list(int argc, char **argv)
{
	const struct vt_rank_options rank_options = { .when = "peak" };
	struct vt_ranks_runs runs = { 0 };
	struct vt_diag diag = { 0 };
	int id, is_json = 0, rc;
	const char *folder;

	while ((id = vt_options_next(&spec, argc, argv)) > 0)
		is_json = 1;
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind > 1)
		return vt_options_wrong(&spec, "one folder or recording at a time");
	folder = optind < argc ? argv[optind] : ".";
	rc = vt_ranks_runs_init(&runs, folder, &rank_options, 0, &diag);
	if (!rc && is_json)
		vt_recording_list_json(&runs, folder, stdout);
	else if (!rc)
		vt_recording_list_text(&runs, folder, stdout);
	vt_ranks_runs_release(&runs);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
