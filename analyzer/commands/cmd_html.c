/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/page.h"
#include "analyzer/commands/view.h"

enum { OPTION_FORCE = 256, OPTION_OPEN };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "write there (default: the recording's name with .html)" },
	{ VT_VIEW_AT, "at", "WHEN",
	  "the moment to look at first: " VT_MOMENTS_WORDS " (default: the failed request, else"
	  " most-allocated)" },
	{ OPTION_FORCE, "force", NULL, "replace a file that exists" },
	{ OPTION_OPEN, "open", NULL, "open the page in a browser" },
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "show frames of PyTorch and Python's library too" },
	{ VT_VIEW_RULES, "rules", "FILE", "name bytes by these rules (default: built in)" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "html",
	.synopsis = "[OPTION...] FILE",
	.summary = "Writes one page that shows where the memory of a recorded run went.",
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

int vt_cmd_html(int argc, char **argv)
{
	struct vt_view view = { .device = VT_WHEN_ALL_DEVICES };
	struct vt_page_request request = { 0 };
	struct vt_diag diag = { 0 };
	int id, is_opened = 0;
	char *output;

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (id == 'o')
			request.output = optarg;
		else if (id == OPTION_FORCE)
			request.is_forced = 1;
		else
			is_opened = 1;
	if (id < 0)
		return vt_options_exit_code(id);
	request.path = view.path;
	request.when = view.when;
	request.rules = view.rules;
	request.has_all_frames = view.has_all_frames;
	if (vt_page_check(&request, &diag) || vt_page_write(&request, &diag))
		return vt_diag_print(&diag);
	output = vt_page_output(&request);
	puts(output);
	if (is_opened)
		open_page(output);
	free(output);
	return VT_EXIT_OK;
}
