/* SPDX-License-Identifier: MIT */
#include "analyzer/base/diag.h"

#include <stdarg.h>
#include <stdio.h>

#include "analyzer/base/printable.h"

void vt_diag_set(struct vt_diag *diag, int exit_code, const char *fmt, ...)
{
	va_list args;

	if (!diag || diag->exit_code)
		return;
	diag->exit_code = exit_code;
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	/* What a message quotes may come from any file. */
	vt_printable_make(diag->text);
}

int vt_diag_print(const struct vt_diag *diag)
{
	fprintf(stderr, "vtrace: %s\n", diag->text);
	return diag->exit_code ? diag->exit_code : VT_EXIT_UNREADABLE;
}
