/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_WARNINGS_H
#define VT_ANALYZER_LIVE_WARNINGS_H

/* Thresholds as a command has them: said on standard error, or kept for its screen, and --then. */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/live/then.h"
#include "analyzer/live/warn.h"

VT_VECTOR_DECLARE(vt_warnings_lines, char *);

struct vt_warnings {
	struct vt_warn warn;
	struct vt_then then;
	int is_on_screen; /* lines are kept until the end */
	struct vt_warnings_lines lines;
};

/* Returns 0, or -1 where `text` is no threshold (warn_rule.h); `text` must outlive it. */
int vt_warnings_add(struct vt_warnings *warnings, const char *text);

/*
 * Looks at a recording or a folder of them.  0, or -1 with `diag` filled: none can be read.  Sets
 * *is_running: a program still runs.
 */
int vt_warnings_look(struct vt_warnings *warnings, const char *path, int *is_running,
		     struct vt_diag *diag);

/* The last lines that were kept; returns how many. */
unsigned vt_warnings_print_last(const struct vt_warnings *warnings, unsigned most, FILE *out);

/*
 * Says what was kept, which owners nobody had, and waits for the commands that run, until an
 * interrupt (interrupt.h).
 */
void vt_warnings_end(struct vt_warnings *warnings);
void vt_warnings_release(struct vt_warnings *warnings);

/* The pause between looks that take so long: they take a tenth of the time at most. */
uint64_t vt_warnings_pause_ms(int64_t every_s, uint64_t took_ns);

#endif
