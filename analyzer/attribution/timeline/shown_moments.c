/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/shown_moments.h"

#include <string.h>

#include "analyzer/base/util.h"

/* By number of what allocations have in common: their answer + 1; 0: not judged yet. */
struct known {
	uint16_t *made;
	uint16_t *freed;
};

struct vt_shown vt_shown_moments_judge(const struct vt_shown_moments *shown, uint32_t moment)
{
	return vt_stage_evidence_judge(shown->evidence, &shown->timeline->moments[moment]);
}

static uint8_t answer_at(struct vt_shown_moments *shown, uint32_t moment)
{
	struct vt_shown answer = vt_shown_moments_judge(shown, moment);

	for (unsigned int i = 0; i < shown->nr_answers; i++) {
		const struct vt_shown *known = &shown->answers[i];

		if (known->stage == answer.stage && known->has_python == answer.has_python &&
		    known->thread == answer.thread)
			return (uint8_t)i;
	}
	if (shown->nr_answers == VT_SHOWN_ANSWERS)
		return VT_SHOWN_ANSWERS;
	shown->answers[shown->nr_answers] = answer;
	return (uint8_t)shown->nr_answers++;
}

/* Where the answer is kept that other moments have as well; NULL: only this one has it. */
static uint16_t *find_known(const struct vt_shown_moments *shown, const struct known *known,
			    const struct vt_moment *moment)
{
	const struct vt_allocation *allocations = shown->timeline->model->allocations;

	if (moment->what == VT_MOMENT_FREE)
		return &known->freed[allocations[moment->index].common->number];
	/* Without modules each allocation's own number of autograd counts. */
	if (moment->what == VT_MOMENT_ALLOC && shown->evidence->has_forward)
		return &known->made[allocations[moment->index].common->number];
	return NULL;
}

void vt_shown_moments_init(struct vt_shown_moments *shown, const struct vt_stage_evidence *evidence,
			   const struct vt_timeline *timeline)
{
	size_t nr_commons = (size_t)timeline->model->nr_commons + 1;
	struct known known = { vt_xcalloc(nr_commons, sizeof(*known.made)),
			       vt_xcalloc(nr_commons, sizeof(*known.freed)) };

	shown->evidence = evidence;
	shown->timeline = timeline;
	shown->nr_answers = 0;
	shown->by_moment = vt_xmalloc((size_t)timeline->nr + 1);
	for (uint32_t i = 0; i < timeline->nr; i++) {
		uint16_t *kept = find_known(shown, &known, &timeline->moments[i]);

		if (kept && !*kept)
			*kept = (uint16_t)(answer_at(shown, i) + 1);
		shown->by_moment[i] = kept ? (uint8_t)(*kept - 1) : answer_at(shown, i);
	}
	free(known.made);
	free(known.freed);
}

void vt_shown_moments_release(struct vt_shown_moments *shown)
{
	free(shown->by_moment);
	memset(shown, 0, sizeof(*shown));
}
