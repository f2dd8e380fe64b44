/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SHOWN_MOMENTS_H
#define VT_ANALYZER_SHOWN_MOMENTS_H

/*
 * What each moment of a timeline shows about its stage (stage_evidence.h), judged once for the
 * passes over all moments that ask for it: a byte each, as few answers are different.
 */

#include <stdint.h>

#include "analyzer/attribution/timeline/stage_evidence.h"

#define VT_SHOWN_ANSWERS UINT8_MAX

struct vt_shown_moments {
	const struct vt_stage_evidence *evidence;
	const struct vt_timeline *timeline;
	uint8_t *by_moment; /* index of the answer; VT_SHOWN_ANSWERS: one that is not kept */
	struct vt_shown answers[VT_SHOWN_ANSWERS];
	unsigned int nr_answers;
};

/* Both are borrowed. */
void vt_shown_moments_init(struct vt_shown_moments *shown, const struct vt_stage_evidence *evidence,
			   const struct vt_timeline *timeline);
void vt_shown_moments_release(struct vt_shown_moments *shown);

struct vt_shown vt_shown_moments_judge(const struct vt_shown_moments *shown, uint32_t moment);

static inline struct vt_shown vt_shown_moments_at(const struct vt_shown_moments *shown,
						  uint32_t moment)
{
	uint8_t answer = shown->by_moment[moment];

	return answer == VT_SHOWN_ANSWERS ? vt_shown_moments_judge(shown, moment)
					  : shown->answers[answer];
}

#endif
