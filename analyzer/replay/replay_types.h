/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPLAY_TYPES_H
#define VT_ANALYZER_REPLAY_TYPES_H

/* The options of a replay, its result, and its state on the way (replay.h). */

#include "analyzer/base/hash.h"
#include "analyzer/replay/card.h"
#include "analyzer/replay/holdings.h"
#include "analyzer/replay/pools.h"
#include "analyzer/replay/trace.h"

struct vt_replay;

/* What an allocation asks for; 0: it is left out.  Packed: there may be as many as blocks. */
struct __attribute__((packed, aligned(4))) vt_replay_request {
	uint32_t allocation;
	uint64_t bytes;
};

/* A step that the trace does not have. */
struct __attribute__((packed, aligned(4))) vt_replay_more {
	struct vt_trace_step step;
	uint32_t event;
	uint64_t bytes; /* TAKE: the request */
};

struct vt_replay_options {
	struct vt_settings settings;
	uint64_t capacity_bytes;
	uint64_t device_bytes; /* what a memory fraction is a part of */
	/* The size that a TAKE, 0: it is left out, or a FAILED asks for.  NULL: as recorded. */
	uint64_t (*request_of)(const void *context, const struct vt_trace_step *step);
	const void *request_context;
	/* ... or of few TAKEs: those that ask for another one than recorded, by allocation. */
	const struct vt_replay_request *changed;
	size_t nr_changed;
	/*
	 * Steps besides the trace's, by event: each before the first that is not earlier, but what
	 * is taken behind what the same event gives back.
	 */
	const struct vt_replay_more *more;
	size_t nr_more;
	size_t emptied_step;       /* empty_cache() is called before it; SIZE_MAX: before none */
	uint8_t is_without_failed; /* requests that failed are left out */
	uint8_t is_compared; /* with the recording, whose addresses the driver is to give again */
	/* What a replay comes to that ends with this step; NULL: of no interest. */
	size_t noted_step;
	struct vt_replay *noted;
};

struct vt_replay_failure {
	int64_t event; /* 0: none */
	uint64_t request_bytes;
	uint64_t reserved_bytes;
	uint64_t allocated_bytes;
};

struct vt_replay {
	uint64_t peak_reserved_bytes;
	uint64_t peak_allocated_bytes;
	uint64_t peak_used_bytes; /* with others' memory, without the context */
	int64_t peak_reserved_event;
	uint64_t largest_segment_bytes; /* of those that are not expandable; 0: none */
	uint64_t end_reserved_bytes;
	uint32_t nr_retries;
	uint32_t nr_played; /* steps; the others were known: memo.h */
	struct vt_replay_failure failure;
	uint32_t nr_rescued;   /* requests that failed in the recording and are served here */
	int64_t rescued_event; /* of the last of them */
	/* With is_compared: */
	uint32_t nr_blocks;
	uint32_t nr_blocks_elsewhere; /* at another address or of another size than recorded */
	uint32_t nr_changes;          /* of segments, recorded */
	uint32_t nr_changes_other;    /* times between two steps at which they were not the same */
	uint32_t nr_reserved_other; /* steps after which the reserved bytes are not the recorded */
	int64_t first_difference;   /* event; 0: none */
};

/* What has been come to between two steps. */
struct vt_replay_state {
	struct vt_replay *replay;
	struct vt_pools pools;
	struct vt_card card;
	struct vt_holdings holdings;
	uint64_t occupied;   /* which places are allocated: the sum of their vt_replay_place */
	uint32_t nr_changes; /* of segments, by the replay */
	size_t next_more;    /* of vt_replay_options.more */
	uint64_t recorded_reserved_bytes;
};

static inline uint64_t vt_replay_place(const struct vt_piece *piece)
{
	return vt_hash_mix(piece->address, piece->size_bytes);
}

/* Whether a step comes before one of the trace: what its event gives back is free for a TAKE. */
static inline int vt_replay_more_is_before(const struct vt_replay_more *more,
					   const struct vt_trace_step *step, int64_t event)
{
	int is_served_by_it = step->op == VT_TRACE_GIVE && more->step.op == VT_TRACE_TAKE;

	return more->event < event || (more->event == event && !is_served_by_it);
}

#endif
