/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WORKLOAD_H
#define VT_ANALYZER_WORKLOAD_H

/*
 * How much was made between points: where iterations get larger (longer sequences, larger batches)
 * their results do, and that is no leak.
 */

#include <stdint.h>

#include "analyzer/diagnosis/trend.h"
#include "analyzer/model/model.h"

struct vt_workload {
	uint64_t made_bytes[VT_TREND_MAX_POINTS]; /* of what has an owner */
	uint32_t nr;
};

/* `points`: nr + 1 events, with nr <= VT_TREND_MAX_POINTS stretches between them. */
struct vt_workload vt_workload_measure(const struct vt_model *model, const int64_t *points,
				       uint32_t nr);
/* Whether it goes on growing without these bytes (nr of them) of it. */
int vt_workload_is_growing(const struct vt_workload *workload, const uint64_t *without_bytes);

/* Index of the stretch that holds an event; VT_NO_INDEX: none. */
uint32_t vt_workload_stretch(const int64_t *points, uint32_t nr, int64_t event);

#endif
