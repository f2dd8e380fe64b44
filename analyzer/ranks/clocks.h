/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CLOCKS_H
#define VT_ANALYZER_CLOCKS_H

/*
 * Brings the times of ranks on several hosts together.  Each recording has an anchor: its start by
 * the host's wall clock and by its monotonic one.  Whether wall clocks agree is seen by steps:
 * ranks wait for each other in each, so that the same step ends at nearly the same time
 * everywhere.
 */

#include "analyzer/ranks/rank.h"

struct vt_clock {
	const char *host;   /* borrowed */
	uint32_t nr_ranks;
	/* Its wall clock before that of the first host, by the ends of common steps. */
	int64_t ahead_ns;
	uint32_t nr_steps;  /* compared; 0: there are none, ahead_ns is not known */
	/*
	 * How far the anchors of its ranks lie apart: 0 unless its clock was set meanwhile, or two
	 * machines have one name.
	 */
	int64_t spread_ns;
};

struct vt_clocks {
	struct vt_clock *hosts; /* in the order of their lowest ranks */
	uint32_t nr;
	int64_t tolerance_ns;   /* what is no disagreement: how long steps are, 1 s at least */
	int64_t first_ns;       /* wall time at which the first rank started */
};

/* `ranks`: in the order of their numbers; they must outlive it. */
void vt_clocks_init(struct vt_clocks *clocks, const struct vt_rank *const *ranks, uint32_t nr);
void vt_clocks_release(struct vt_clocks *clocks);

int vt_clocks_is_off(const struct vt_clocks *clocks, const struct vt_clock *host);

/* A time since the start of one rank, in ns since the first rank's start. */
int64_t vt_clocks_time(const struct vt_clocks *clocks, const struct vt_rank *rank, int64_t time_ns);

#endif
