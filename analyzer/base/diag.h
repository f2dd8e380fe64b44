/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DIAG_H
#define VT_ANALYZER_DIAG_H

/*
 * What went wrong, as one line for the user: filled by libraries, printed by the command.  The
 * libraries of the analyzer print nothing themselves.
 */

enum vt_exit {
	VT_EXIT_OK = 0,
	VT_EXIT_DIFFERENCE = 1, /* a budget exceeded, a difference found */
	VT_EXIT_USAGE = 2,
	VT_EXIT_UNREADABLE = 3,
};

struct vt_diag {
	int exit_code; /* 0 while nothing went wrong */
	int is_busy;   /* somebody holds the database: the same may work later */
	char text[512];
};

/* Keeps the first message: later ones are usually its consequences.  `diag` may be NULL. */
void vt_diag_set(struct vt_diag *diag, int exit_code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints "vtrace: TEXT" on stderr and returns the exit code (3 where none was set). */
int vt_diag_print(const struct vt_diag *diag);

#endif
