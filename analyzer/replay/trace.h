/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TRACE_H
#define VT_ANALYZER_TRACE_H

/*
 * A recording as the caching allocator of one device saw it: what was asked of it, in order, and
 * what it asked of the driver.  The first can be played with any settings; the second is what a
 * replay with the recorded settings has to come to.
 *
 * What a recording does not say: empty_cache() calls that released nothing, record_stream(), pools
 * of a MemPool, limits set by a call; of an older recorder also the size that was asked for and the
 * stream.  requests.h and streams.h find the sizes and who shares free memory with whom.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/narrow.h"
#include "analyzer/base/util.h"
#include "analyzer/model/model.h"
#include "analyzer/model/timeline.h"
#include "analyzer/replay/pools.h"
#include "analyzer/replay/settings.h"

enum vt_trace_op {
	VT_TRACE_TAKE,
	VT_TRACE_GIVE,
	VT_TRACE_EMPTY_CACHE,
	VT_TRACE_FAILED,     /* a request that ended out of memory */
	VT_TRACE_POOL_GONE,  /* the last graph that needed the private pool `segment` */
	VT_TRACE_OTHER_TAKE, /* device memory of somebody else in this process */
	VT_TRACE_OTHER_GIVE,
};

/*
 * There is one for nearly every event, so it says no more than what it is about: vt_trace_event(),
 * vt_trace_bytes() and vt_trace_segment() tell the rest.
 */
struct vt_trace_step {
	/*
	 * Index into the model; FAILED: of vt_model.ooms; POOL_GONE: the pool's number;
	 * EMPTY_CACHE: of `emptied`.
	 */
	uint32_t allocation : 29;
	uint32_t op : 3; /* enum vt_trace_op */
};

/* What the allocator did at the driver. */
struct vt_trace_change {
	int64_t event;
	uint64_t address;
	uint64_t bytes;
	uint32_t segment;
	uint8_t op; /* enum vt_segment_op */
};

struct vt_trace_segment {
	uint64_t address;
	uint64_t size_bytes; /* address space, where it is expandable */
	int64_t taken_event;
	int64_t given_event; /* VT_NEVER */
	uint64_t stream_id;  /* PyTorch's, of most of its blocks; 0 where that is not recorded */
	uint32_t stream;     /* a number of our own: the streams of a pool that can be told apart */
	uint32_t pool;       /* private, of a CUDA graph: its number; 0: the usual one */
	int64_t kept_until;  /* of a private pool: when the last graph that needs it went */
	uint32_t nr_votes;   /* for stream_id, while the events are read */
	uint8_t is_small;
	uint8_t is_expandable;
	uint8_t is_request; /* no segment: stands for a failed request */
};

/* Steps from one moment with few live blocks to the next: laps.h. */
struct vt_lap {
	uint32_t first_step;
	uint32_t first_allocation; /* the first that is taken from here on */
	uint32_t kind;             /* index into `kinds` */
	uint8_t is_simple;         /* steps that take and give, nothing else */
	uint8_t is_unchanged;      /* no segment was taken or given back in it */
	/* Of laps of one kind that are the same in all that was recorded: addresses, events. */
	uint64_t as_recorded;
};

/* Allocations by their distance from vt_lap.first_allocation, as that of each lap is another. */
struct vt_lap_kind {
	uint32_t nr_laps;
	uint32_t first;    /* index into `distances` */
	uint32_t nr_given; /* those that are older and given back in it... */
	uint32_t nr_kept;  /* ... and behind them those that it takes and leaves alive */
};

struct vt_laps {
	VT_VECTOR(struct vt_lap) items; /* one more than laps: where the last one ends */
	VT_VECTOR(struct vt_lap_kind) kinds;
	VT_VECTOR(int32_t) distances;
};

struct vt_trace {
	const struct vt_model *model;
	int device;
	struct vt_settings settings; /* the recorded ones */
	uint64_t device_bytes;       /* 0: not known */
	uint64_t capacity_bytes;     /* what the process could have, without its context */
	VT_VECTOR(struct vt_trace_step) steps;
	VT_VECTOR(struct vt_trace_change) changes;
	VT_VECTOR(struct vt_trace_segment) segments;
	struct vt_laps laps;         /* none yet, until vt_laps_find */
	struct vt_narrow block_segments; /* by allocation: the segment of a block + 1; 0: none */
	uint32_t *failed_segments;   /* by vt_model.ooms: what stands for its segment */
	VT_VECTOR(uint32_t) emptied;      /* events with which the cache was emptied */
	/* Requests by allocation where another one than the model's was found, else 0; or NULL. */
	uint64_t *guessed_bytes;
	uint32_t nr_blocks;
	uint32_t nr_homeless; /* blocks that lie in no segment that was recorded */
	uint8_t is_collected; /* old segments were given back: a memory limit was set */
};

/* What a block was asked for with, as far as it is known; not rounded. */
uint64_t vt_trace_request(const struct vt_trace *trace, uint32_t allocation);
/* Of a step of the trace. */
int64_t vt_trace_event(const struct vt_trace *trace, const struct vt_trace_step *step);
/* TAKE, FAILED: index into `segments`, VT_NO_INDEX; others: VT_NO_INDEX. */
uint32_t vt_trace_segment(const struct vt_trace *trace, const struct vt_trace_step *step);
/* TAKE: who may serve it, one number for its stream and private pool; 0: the default ones. */
uint64_t vt_trace_server(const struct vt_trace *trace, const struct vt_trace_step *step);
/* TAKE, FAILED: the request; memory of others: its size. */
uint64_t vt_trace_bytes(const struct vt_trace *trace, const struct vt_trace_step *step);

/* Whether any framework's blocks were recorded on a device. */
int vt_trace_has_blocks(const struct vt_model *model, int device);

/*
 * What the recorded environment says of the allocator.  Returns 0, or -1 with `diag` filled: it
 * cannot be read.
 */
int vt_trace_settings(struct vt_settings *settings, struct vt_db *db, struct vt_diag *diag);

/*
 * Played with `settings` as the recorded ones; does not ask the database.
 * Returns 0, or -1 with `diag` filled where there is nothing to replay: no blocks of a caching
 * allocator, or a backend that is not PyTorch's own.  vt_trace_release in both cases.
 */
int vt_trace_init(struct vt_trace *trace, const struct vt_timeline *timeline, int device,
		 const struct vt_settings *settings, struct vt_diag *diag);
void vt_trace_release(struct vt_trace *trace);

#endif
