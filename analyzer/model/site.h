/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SITE_H
#define VT_ANALYZER_SITE_H

/*
 * The place in the program that made an allocation, as a number.  Stacks that differ only in which
 * instance of a module ran, or in frames that are not shown, are one place.  What a node of the
 * backward pass made counts at the forward call (producer.h); where there is no Python stack, the
 * native one is the place.
 */

#include <stdint.h>

#include "analyzer/model/producer.h"

/* Equal for equal places. */
uint64_t vt_site_of(const struct vt_describe *describe, const struct vt_allocation *a);
uint64_t vt_site_of_producer(const struct vt_describe *describe,
			     const struct vt_producer *producer);

#endif
