/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_COMPLETION_H
#define VT_ANALYZER_COMPLETION_H

/*
 * Completion scripts for shells, made of the tables of commands and options.
 */

#include <stddef.h>
#include <stdio.h>

#include "analyzer/base/options.h"
#include "analyzer/commands/cmd.h"

struct vt_completion_row {
	const struct vt_command *command;
	const struct vt_options_spec *spec;
};

/* Returns 0, or -1 where `shell` is none of those known. */
int vt_completion_print(const char *shell, const struct vt_completion_row *rows, size_t nr,
			FILE *out);

#define VT_COMPLETION_SHELLS "bash|zsh|fish"

#endif
