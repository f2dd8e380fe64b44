/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/install_path.h"
#include "analyzer/base/options.h"
#include "analyzer/commands/cmd.h"

static const struct vt_option options[] = { { 0, NULL, NULL, NULL } };

static const struct vt_options_spec spec = {
	.command = "path",
	.synopsis = "",
	.summary = "Prints the path of the recorder, for LD_PRELOAD.",
	.options = options,
};

int vt_cmd_path(int argc, char **argv)
{
	int id = vt_options_next(&spec, argc, argv);
	char *library;

	if (id < 0)
		return vt_options_exit_code(id);
	if (optind < argc)
		return vt_options_wrong(&spec, "takes no argument");
	library = vt_install_path_own("libvtrace.so");
	if (!library) {
		fputs("vtrace: libvtrace.so not found next to vtrace\n", stderr);
		return VT_EXIT_UNREADABLE;
	}
	puts(library);
	free(library);
	return VT_EXIT_OK;
}
