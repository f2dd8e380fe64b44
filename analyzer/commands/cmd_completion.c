/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/options.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/completion.h"

#define ROW(name, summary) { #name, summary, vt_cmd_##name },
static const struct vt_command commands[] = { VT_COMMANDS(ROW) };
#undef ROW

static const struct vt_option options[] = { { 0, NULL, NULL, NULL } };

static const struct vt_options_spec spec = {
	.command = "completion",
	.synopsis = VT_COMPLETION_SHELLS,
	.summary = "Prints a completion script for a shell.",
	.options = options,
};

int vt_cmd_completion(int argc, char **argv)
{
	struct vt_completion_row rows[VT_ARRAY_SIZE(commands)];
	int id = vt_options_next(&spec, argc, argv);
	const char *shell;

	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "missing shell: bash, zsh or fish");
	shell = argv[optind];
	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++) {
		rows[i].command = &commands[i];
		rows[i].spec = vt_options_of(commands[i].run, commands[i].name);
	}
	if (vt_completion_print(shell, rows, VT_ARRAY_SIZE(rows), stdout))
		return vt_options_wrong(&spec, "%s: unknown shell; use bash, zsh or fish", shell);
	return VT_EXIT_OK;
}
