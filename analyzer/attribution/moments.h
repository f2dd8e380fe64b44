/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MOMENTS_H
#define VT_ANALYZER_MOMENTS_H

/*
 * A moment of a recording, as users name it: those of when.h, which need facts alone, and the
 * instants of most allocated bytes in a stage ("stage:backward") or in a step ("step:3").
 */

#include <stdint.h>

#include "analyzer/attribution/timeline/stages.h"
#include "analyzer/model/when.h"

#define VT_MOMENTS_WORDS "peak|most-allocated|end|oom|stage:NAME|step:N|mark:NAME|event:N"

/*
 * 0, or -1 with `diag` filled, as vt_when_resolve; of all devices, that with the most allocated
 * bytes decides.
 */
int vt_moments_resolve(const struct vt_stages *stages, const char *text, int device,
		       int64_t *event, struct vt_diag *diag);

struct vt_highest {
	uint64_t allocated_bytes;
	int64_t event;
	const struct vt_span *span; /* that it lies in; NULL: none was found yet */
};

/* Whether the moment behind `event`, in that span, is one of those looked at. */
typedef int (*vt_moments_fn)(const struct vt_span *span, int64_t event, const void *context);

/*
 * The instant of most allocated bytes on one device; replaces *highest, which the caller zeroed,
 * only by more.  0, or -1 where nothing was found.
 */
int vt_moments_find_highest(const struct vt_stages *stages, int device, vt_moments_fn is_looked_at,
			    const void *context, struct vt_highest *highest);

#endif
