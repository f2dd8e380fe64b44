/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_PLACE_H
#define VT_ANALYZER_REPORT_PLACE_H

/*
 * What a program was doing at one event.
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/report/analysis.h"
#include "analyzer/report/json.h"

struct vt_report_place {
	int64_t event;
	int64_t time_ns;
	const char *stage; /* NULL: unknown */
	uint32_t step;     /* 0: none */
	uint32_t micro_batch; /* from 1; 0: none, or the program does not accumulate */
	char *doing;       /* innermost module, else autograd node, else function; NULL: none */
};

void vt_report_place_find(struct vt_report_place *place, struct vt_analysis *analysis,
			  int64_t event);
void vt_report_place_release(struct vt_report_place *place);

/* "   t=41.2 s, step 3, forward, Linear" */
void vt_report_place_print(const struct vt_report_place *place, FILE *out);
void vt_report_place_json(const struct vt_report_place *place, json_t *object);

#endif
