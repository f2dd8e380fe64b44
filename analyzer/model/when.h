/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WHEN_H
#define VT_ANALYZER_WHEN_H

/*
 * A moment of a recording, as users name it: "peak", "most-allocated" (most bytes in blocks;
 * without blocks the peak), "end", "oom", "mark:NAME" (the first of that name), "event:N"; those
 * that need a judgement are attribution/moments.h's.  What is live then is what was allocated at or
 * before that event and not freed at or before it.
 */

#include <stdint.h>

#include "analyzer/model/model.h"

#define VT_WHEN_ALL_DEVICES (-1)

/*
 * The event that `text` means, for one device or for all (then "peak" is that of the device with
 * the highest). Returns 0; -1 with `diag` filled: wrong usage (2), or nothing of that kind in this
 * recording (3); 1 where `text` begins with no such word, with `diag` as it was.
 */
int vt_when_resolve(const struct vt_model *model, const char *text, int device, int64_t *event,
		    struct vt_diag *diag);

#endif
