/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THRESHOLD_WATCH_H
#define VT_ANALYZER_LIVE_THRESHOLD_WATCH_H

/* Thresholds as a command has them: said on standard error, or kept for its screen, and --then. */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/live/threshold_command.h"
#include "analyzer/live/thresholds.h"

VT_VECTOR_DECLARE(vt_threshold_lines, char *);

struct vt_threshold_watch {
	struct vt_thresholds thresholds;
	struct vt_threshold_command command;
	int is_on_screen; /* lines are kept until the end */
	struct vt_threshold_lines lines;
};

/* Returns 0, or -1 where `text` is no threshold (threshold_rule.h); `text` must outlive it. */
int vt_threshold_watch_add(struct vt_threshold_watch *watch, const char *text);

/* Whether any threshold is of growth over time, which one look cannot tell. */
int vt_threshold_watch_has_period(const struct vt_threshold_watch *watch);

/* At each look (look.h); recordings of programs that run are written into. */
void vt_threshold_watch_judge(struct vt_threshold_watch *watch, const struct vt_ranks_runs *runs);

/* At the end of a program that this command ran: its recording, read at its peak. */
void vt_threshold_watch_judge_peak(struct vt_threshold_watch *watch,
				   const struct vt_ranks_runs *runs);

/* The last lines that were kept; returns how many. */
unsigned vt_threshold_watch_print_last(const struct vt_threshold_watch *watch, unsigned most,
				       FILE *out);

/*
 * Says what was kept, which owners nobody had, and waits for the commands that run, until an
 * interrupt (interrupt.h).
 */
void vt_threshold_watch_end(struct vt_threshold_watch *watch);
void vt_threshold_watch_release(struct vt_threshold_watch *watch);

#endif
