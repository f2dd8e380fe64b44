/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PEAK_CONTEXT_H
#define VT_ANALYZER_PEAK_CONTEXT_H

/*
 * What a program was doing at one event.
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/output/json.h"

struct vt_peak_context {
	int64_t event;
	int64_t time_ns;
	const char *stage; /* NULL: unknown */
	uint32_t step;     /* 0: none */
	uint32_t micro_batch; /* from 1; 0: none, or the program does not accumulate */
	uint32_t generation;  /* from 1; 0: none, and `pass` is NULL */
	const char *pass;     /* "prefill", "decode step" */
	char *doing;       /* innermost module, else autograd node, else function; NULL: none */
};

void vt_peak_context_find(struct vt_peak_context *place, struct vt_analysis *analysis,
			  int64_t event);
void vt_peak_context_release(struct vt_peak_context *place);

/* "step 3, forward", "generation 2, prefill"; free(). */
char *vt_peak_context_stage(const struct vt_peak_context *place);
/* "   t=41.2 s, step 3, forward, Linear" */
void vt_peak_context_print(const struct vt_peak_context *place, FILE *out);
void vt_peak_context_json(const struct vt_peak_context *place, json_t *object);

#endif
