/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_THRESHOLDS_H
#define VT_ANALYZER_LIVE_THRESHOLDS_H

/*
 * Thresholds against recordings, look by look.  A threshold that is reached is said once; it is
 * over, and may be said again, when 5 % less than the threshold is in use (or grew).
 *
 * Growth in time compares the least that looks saw in one period with the least of the period
 * before: what a step takes and gives back is none.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/live/threshold_rule.h"
#include "analyzer/ranks/ranks_runs.h"

#define VT_THRESHOLD_MARGIN_PERCENT 5

struct vt_threshold_event {
	const struct vt_threshold_rule *rule;
	const struct vt_rank *rank;
	int is_over;   /* 0: recovered */
	int is_of_peak; /* of vt_thresholds_look_at_peak */
	int64_t bytes; /* in use, or grown per period of the rule */
	uint64_t threshold_bytes;
	char *what; /* "85% reached: in use ..." */
	char *line; /* "TIME FILE: " and that */
};

struct vt_threshold_state;
VT_VECTOR_DECLARE(vt_threshold_rules, struct vt_threshold_rule);
VT_VECTOR_DECLARE(vt_threshold_states, struct vt_threshold_state *);

struct vt_thresholds {
	struct vt_threshold_rules rules; /* filled by the caller */
	/* The event is gone when it returns. */
	void (*say)(const struct vt_threshold_event *event, void *context);
	void *context;
	struct vt_threshold_states states; /* of each rule and recording */
	unsigned nr_reached;
};

/* `now_ns`: vt_clock_ns() of the look. */
void vt_thresholds_look(struct vt_thresholds *thresholds, const struct vt_ranks_runs *runs,
			uint64_t now_ns);
/*
 * At the end of a program, of recordings that were read at their peaks: what no look saw, because
 * it came and went in between or near the end.  Growth is that of looks only.
 */
void vt_thresholds_look_at_peak(struct vt_thresholds *thresholds, const struct vt_ranks_runs *runs);
/*
 * The next rule from *at on with an owner that no look saw bytes of: it may be misspelt.  NULL:
 * there is none.  Begin with *at = 0.
 */
const struct vt_threshold_rule *vt_thresholds_unseen(const struct vt_thresholds *thresholds,
						     size_t *at);
/*
 * The next rule, each once, that is a share of a device whose size is not known: no look can tell.
 * NULL: there is none.
 */
const struct vt_threshold_rule *vt_thresholds_unsized(struct vt_thresholds *thresholds);
void vt_thresholds_release(struct vt_thresholds *thresholds);

#endif
