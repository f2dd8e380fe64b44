/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VERDICT_H
#define VT_ANALYZER_VERDICT_H

/*
 * A comparison in one line, for who reads no further:
 *
 *	peak allocated +53.41 MiB (+15.5 %): batch 4 -> 5 (train.py:77); logits +48.00 MiB,
 *	activations +5.31 MiB
 *
 * What the runs were given comes only where one thing of it differs; the line is that of the
 * largest change.
 */

#include "analyzer/diff/diff.h"

/* Of the device that differs most.  To be freed. */
char *vt_verdict_make(const struct vt_diff *diff);
/* "peak allocated +53.41 MiB (+15.5 %)", or that nothing differs; to be freed. */
char *vt_verdict_head(const struct vt_diff *diff);

#endif
