/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MAKERS_H
#define VT_ANALYZER_MAKERS_H

/*
 * What made a block below the program's own lines: the library's Python functions, the operator's
 * native ones, and the backward node.  Equal numbers in two recordings are equal operators; no
 * file, line or function of the program goes into them.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

struct vt_makers {
	const struct vt_describe *describe;
	uint64_t *of_python; /* by stack; 0: not looked at yet */
	uint64_t *of_native;
};

/* `describe` must outlive it. */
void vt_makers_init(struct vt_makers *makers, const struct vt_describe *describe);
void vt_makers_release(struct vt_makers *makers);

uint64_t vt_makers_of(struct vt_makers *makers, const struct vt_allocation *a);

#endif
