/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LEFTOVERS_H
#define VT_ANALYZER_LEFTOVERS_H

/*
 * What a program that ended by itself never gave back, but for what frameworks and libraries keep
 * on purpose: workspaces, collectives' buffers, pools of CUDA graphs; weights and what belongs to
 * them, which live as long as the program by their nature; and what lived when events were lost, if
 * its free may be among them (losses.h).  Nor what the step or the call had made that a failure
 * interrupted.
 */

#include "analyzer/attribution/attribution.h"
#include "analyzer/diagnosis/leak.h"
#include "analyzer/model/describe.h"

/* Owners, and all below them, that are left out. */
#define VT_LEFTOVERS_NR_ON_PURPOSE 7
extern const char *const vt_leftovers_on_purpose[VT_LEFTOVERS_NR_ON_PURPOSE];

struct vt_leftovers {
	struct vt_leak *items; /* largest first; their `kept` is NULL */
	uint32_t nr;
	uint64_t on_purpose_bytes; /* what was left out */
	uint8_t has_on_purpose[VT_LEFTOVERS_NR_ON_PURPOSE]; /* which owners have some of it */
	uint64_t interrupted_bytes; /* ... of the step or call that a failure interrupted */
};

void vt_leftovers_init(struct vt_leftovers *leftovers, struct vt_attribution *attribution,
		       const struct vt_describe *describe, int device);
void vt_leftovers_release(struct vt_leftovers *leftovers);

#endif
