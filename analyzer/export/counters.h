/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPORT_COUNTERS_H
#define VT_ANALYZER_EXPORT_COUNTERS_H

/*
 * Memory over time as counters, for viewers of traces: of each device what is used, reserved and
 * allocated, and what each owner has.
 *
 * A long recording is decimated: its events are cut into buckets of equally many, and of each
 * counter a bucket keeps the lowest, the highest and the last value, with their times.  So the
 * highest value of every counter is there, to the byte.
 */

#include <stdint.h>

#include "analyzer/export/writers.h"

struct vt_counter {
	int device;
	const char *owner; /* of one owner; NULL: of the device */
	const char *name;  /* "device used", "reserved", "allocated", or the owner */
};

/* A point, by number of the counter; times of one counter never decrease.  */
typedef void (*vt_counters_fn)(void *context, uint32_t counter, int64_t time_ns, uint64_t bytes);

struct vt_counters {
	struct vt_writer_job *job;
	struct vt_counter *items;
	uint32_t nr;
	uint32_t nr_buckets; /* 0: every change is a point */
};

/*
 * With more than `most_events` events, `nr_buckets` buckets, unless job->is_whole; then
 * job->left_out says so.
 */
void vt_counters_init(struct vt_counters *counters, struct vt_writer_job *job, uint32_t most_events,
		      uint32_t nr_buckets);
void vt_counters_release(struct vt_counters *counters);

void vt_counters_play(const struct vt_counters *counters, vt_counters_fn put, void *context);

#endif
