/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HAPPENINGS_H
#define VT_ANALYZER_HAPPENINGS_H

/*
 * What a viewer of traces shows beside memory: steps, stages, marks, peaks and failed requests,
 * each lane in order of time.
 */

#include <stdint.h>

#include "analyzer/export/writers.h"

enum vt_lane { VT_LANE_STEPS, VT_LANE_STAGES, VT_LANE_MARKS, VT_LANE_DEVICE, VT_NR_LANES };

enum vt_happening_kind { VT_HAPPENING_SPAN, VT_HAPPENING_BEGIN, VT_HAPPENING_END,
			 VT_HAPPENING_INSTANT };

struct vt_happening {
	enum vt_lane lane;
	enum vt_happening_kind kind;
	const char *name;
	int64_t time_ns;
	int64_t end_ns;  /* of a span */
	uint32_t number; /* of VT_LANE_MARKS the thread, of VT_LANE_DEVICE the device */
};

typedef void (*vt_happenings_fn)(void *context, const struct vt_happening *happening);

void vt_happenings_play(const struct vt_writer_job *job, vt_happenings_fn put, void *context);

#endif
