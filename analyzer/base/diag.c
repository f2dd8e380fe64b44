/* SPDX-License-Identifier: MIT */
#include "analyzer/base/diag.h"

#include <stdarg.h>
#include <stdio.h>

/* What a message quotes may come from any file: it stays one line and drives no terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

void vt_diag_set(struct vt_diag *diag, int exit_code, const char *fmt, ...)
{
	va_list args;

	if (!diag || diag->exit_code)
		return;
	diag->exit_code = exit_code;
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	make_printable(diag->text);
}

int vt_diag_print(const struct vt_diag *diag)
{
	fprintf(stderr, "vtrace: %s\n", diag->text);
	return diag->exit_code ? diag->exit_code : VT_EXIT_UNREADABLE;
}
