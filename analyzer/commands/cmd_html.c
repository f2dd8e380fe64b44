/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/printable.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/page.h"
#include "analyzer/commands/view.h"
#include "analyzer/ranks/folder.h"

enum { OPTION_BASE = 256, OPTION_RUN, OPTION_FORCE, OPTION_OPEN };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "output file (default: the recording's name with .html)" },
	{ OPTION_BASE, "base", "BASE", "compare FILE with this recording" },
	{ OPTION_RUN, "run", "N",
	  "run N of a folder (default: the last of those with most ranks)" },
	{ VT_VIEW_AT, "at", "WHEN",
	  "the moment to show first: " VT_MOMENTS_WORDS " (default: the failed request, else"
	  " most-allocated)" },
	{ OPTION_FORCE, "force", NULL, "replace an existing file" },
	{ OPTION_OPEN, "open", NULL, "open the page in a browser" },
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "also show frames of PyTorch and the Python standard library" },
	{ VT_VIEW_RULES, "rules", "FILE", "use these attribution rules (default: built-in)" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "html",
	.synopsis = "[OPTION...] FILE|FOLDER",
	.summary = "Writes one HTML page that shows where the memory of recorded runs went.",
	.options = options,
};

static void open_page(const char *output)
{
	if (fork())
		return;
	execlp("xdg-open", "xdg-open", output, (char *)NULL);
	fprintf(stderr, "vtrace: --open: xdg-open: %s\n", strerror(errno));
	_exit(VT_EXIT_UNREADABLE);
}

/* Returns 0, or -1 with the message printed. */
static int take_option(int id, struct vt_page_request *request, int *is_opened)
{
	int number;

	switch (id) {
	case 'o':
		request->output = optarg;
		break;
	case OPTION_BASE:
		request->base = optarg;
		break;
	case OPTION_RUN:
		if (vt_view_number(&spec, "run", &number))
			return -1;
		request->run = (uint32_t)number;
		break;
	case OPTION_FORCE:
		request->is_forced = 1;
		break;
	default:
		*is_opened = 1;
	}
	return 0;
}

int vt_cmd_html(int argc, char **argv)
{
	struct vt_view view = { .device = VT_WHEN_ALL_DEVICES };
	struct vt_page_request request = { 0 };
	struct vt_diag diag = { 0 };
	int id, is_opened = 0;
	char *output;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &request, &is_opened))
			return VT_EXIT_USAGE;
	if (id < 0)
		return vt_options_exit_code(id);
	if (vt_folder_is_one(view.path) ? request.base != NULL : request.run != 0)
		return vt_options_wrong(&spec, request.base ? "--base is for one recording"
							    : "--run is for a folder");
	if (is_opened && request.output && !strcmp(request.output, "-"))
		return vt_options_wrong(&spec, "--open needs a file, not standard output");
	request.path = view.path;
	request.when = view.when;
	request.rules = view.rules;
	request.has_all_frames = view.has_all_frames;
	if (vt_page_check(&request, &diag) || vt_page_write(&request, &diag))
		return vt_diag_print(&diag);
	output = vt_page_output(&request);
	if (strcmp(output, "-") != 0)
		vt_printable_path(output);
	if (is_opened)
		open_page(output);
	free(output);
	return VT_EXIT_OK;
}
