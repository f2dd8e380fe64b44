/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LEAKS_H
#define VT_ANALYZER_LEAKS_H

/*
 * What a program piles up: per place in it and owner, the bytes that each iteration
 * (iterations.h) adds to what the iterations before have left.  Compared is the least that a place
 * holds during each iteration, so that what comes and goes within one does not count.
 *
 * Growth is a leak where what it is made of is old: blocks of all iterations live, or one block
 * was replaced by a larger one, joined to it or while iterations stay alike.  A last result that is
 * larger because its iteration is (longer sequences) is none.
 *
 * Warm-up is left out: the first iterations make what a program needs once.
 */

#include "analyzer/diagnosis/leftovers.h"
#include "analyzer/diagnosis/iterations.h"

/* What a device held over the iterations. */
struct vt_leak_total {
	int device;
	struct vt_trend allocated;
	struct vt_trend reserved; /* from the driver */
	double allocated_per_iteration;
	double reserved_per_iteration;
};

struct vt_leaks {
	struct vt_attribution *attribution;
	struct vt_describe describe;
	struct vt_iterations iterations;
	uint32_t nr_warm_up;	 /* iterations */
	uint32_t iterations_per_point; /* of the trends */
	uint32_t nr_points;	 /* 0: too few iterations to tell */
	int are_iterations_growing;	 /* each makes more than the last */
	struct vt_leak *growth; /* steepest first */
	uint32_t nr_growth;
	struct vt_leak *since; /* made once behind the warm-up, still alive; largest first */
	uint32_t nr_since;
	struct vt_leftovers leftovers;
	struct vt_leak_total *totals; /* by device of the model that is looked at */
	uint32_t nr_totals;
};

struct vt_leaks_options {
	int device; /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	int has_all_frames;
	int has_ended; /* the program's own end was recorded: what is alive then was left */
};

/* The fewest iterations that tell growth from warm-up. */
uint32_t vt_leaks_min_iterations(enum vt_iteration_kind kind);

/* `attribution` must outlive it. */
void vt_leaks_init(struct vt_leaks *leaks, struct vt_attribution *attribution,
		   const struct vt_leaks_options *options);
void vt_leaks_release(struct vt_leaks *leaks);

#endif
