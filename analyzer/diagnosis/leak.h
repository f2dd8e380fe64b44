/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LEAK_H
#define VT_ANALYZER_LEAK_H

/*
 * Blocks of one place in the program and of one owner that are alive though they are old: the row
 * of every list of leaks.
 */

#include <stdint.h>

#include "analyzer/diagnosis/trend.h"

#define VT_LEAK_FORMS(X)                                                                           \
	X(ACCUMULATING, "accumulating") /* every iteration adds blocks */                          \
	X(GROWING, "growing")           /* a block is replaced by a larger one */

#define VT_LEAK_ENUM(name, text) VT_LEAK_##name,
enum vt_leak_form { VT_LEAK_FORMS(VT_LEAK_ENUM) VT_NR_LEAK_FORMS };
#undef VT_LEAK_ENUM

extern const char *const vt_leak_forms[VT_NR_LEAK_FORMS];

/* Who holds some of it. */
struct vt_holder {
	char *path;  /* from a root inwards: "variable history of train.py:main > list" */
	char *kinds; /* of its links: "variable,list" */
	uint32_t tensors; /* that the probe saw held so */
	uint8_t has_graph; /* one of them is a result of autograd */
};

struct vt_leak {
	uint32_t allocation; /* index of the largest, of equal ones the first */
	uint32_t owner;	     /* vt_attribution_owner() of it */
	uint64_t bytes; /* alive at the end of the last iteration, and made behind the warm-up */
	uint32_t blocks;
	uint32_t first_iteration; /* that such a block was made in, from 1 */
	uint32_t last_iteration;
	uint32_t *kept; /* their indices */
	uint32_t group; /* of site_groups.h, while these are there */
	struct vt_holder *holders; /* the most telling first; none: no probe saw it */
	uint32_t nr_holders;
	/* Of what grows. */
	uint8_t form; /* enum vt_leak_form */
	struct vt_trend trend;
	double bytes_per_iteration;
};

/* For qsort: the largest first. */
int vt_leak_compare_bytes(const void *a, const void *b);

#endif
