/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LAPS_H
#define VT_ANALYZER_LAPS_H

/*
 * A trace cut into laps that many of its parts have in common, so that a replay need not play each:
 * memo.h.  It is cut where few blocks live, which in training is between two steps: what a lap
 * finds and what it leaves behind is then little.  Laps of one kind ask the same of the allocator,
 * in the same order.  They need not follow each other: with batches of ten lengths there are ten
 * kinds.
 */

#include "analyzer/replay/trace.h"

/* Fills trace->laps, once requests and streams are found. */
void vt_laps_find(struct vt_trace *trace);

#endif
