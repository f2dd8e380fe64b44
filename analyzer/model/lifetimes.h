/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIFETIMES_H
#define VT_ANALYZER_LIFETIMES_H

/* The allocations that took most bytes over most events, of too many to show each. */

#include <stdint.h>

#include "analyzer/model/model.h"

/* Bytes times events from its allocation to its free, or to the end of the recording. */
double vt_lifetimes_area(const struct vt_model *model, const struct vt_allocation *a);

/* Whether the allocation with that index is one to choose from. */
typedef int (*vt_lifetimes_fn)(uint32_t allocation, const void *context);

/*
 * The area from which on there are at most `most` of them; it may be far fewer where many have
 * nearly the same area.
 */
double vt_lifetimes_least(const struct vt_model *model, uint32_t most, vt_lifetimes_fn is_counted,
			  const void *context);

#endif
