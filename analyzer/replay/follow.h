/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FOLLOW_H
#define VT_ANALYZER_FOLLOW_H

/*
 * The segments of a recording and the pieces in them, as they were: nothing is decided here, every
 * piece lies where the recording says.  All streams share one order of free pieces.  The segment of
 * a piece is piece->segment, the block in it piece->holder (an index into the model).
 */

#include "analyzer/base/map.h"
#include "analyzer/replay/holdings.h"
#include "analyzer/replay/pools.h"
#include "analyzer/replay/trace.h"

struct vt_follow {
	const struct vt_trace *trace;
	struct vt_pools pools;
	struct vt_card card;
	struct vt_map starts; /* address -> piece that begins there */
	size_t next_step;
	size_t next_lap; /* of trace->laps: not begun yet, as far as that was looked at */
	size_t next_change;
	struct vt_holdings holdings;
	uint32_t *nr_live;         /* by segment: blocks in it */
	int64_t event;             /* of the last step made */
};

void vt_follow_init(struct vt_follow *follow, const struct vt_trace *trace);
void vt_follow_release(struct vt_follow *follow);

/*
 * The next step, with the changes of segments before it made, and the step itself not yet; NULL at
 * the end.
 */
const struct vt_trace_step *vt_follow_next(struct vt_follow *follow);

/* The same step without any of that; NULL at the end. */
const struct vt_trace_step *vt_follow_peek(const struct vt_follow *follow);

/* Whether nothing in the cache served a TAKE or a FAILED. */
int vt_follow_is_new(const struct vt_follow *follow, const struct vt_trace_step *step);
/*
 * And whether its search came before the changes in front of it, so that what was given back in
 * them was free and did not serve: not where a call of empty_cache gave it back.
 */
int vt_follow_is_searched_before(const struct vt_follow *follow, const struct vt_trace_step *step);

/* The free piece that a TAKE is going to be cut from; NULL where the recording does not say. */
struct vt_piece *vt_follow_place(const struct vt_follow *follow, const struct vt_trace_step *step);
/* Makes the step. */
void vt_follow_make(struct vt_follow *follow, const struct vt_trace_step *step);

/* Follows to the state after `event`. */
void vt_follow_to(struct vt_follow *follow, int64_t event);

/* The piece that begins at an address, NULL where none does. */
struct vt_piece *vt_follow_at(const struct vt_follow *follow, uint64_t address);
/* The first piece of a segment at this moment, NULL where it is not there. */
struct vt_piece *vt_follow_segment(const struct vt_follow *follow, uint32_t segment);

#endif
