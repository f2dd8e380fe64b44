/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_SITES_H
#define VT_ANALYZER_ALLOCATION_SITES_H

/*
 * Whose code asked for memory, where no framework is between: what "{place}" stands for in an
 * owner.
 *
 *  P1  A Python function of the program's own, the innermost outside of installed packages:
 *      "user/load"; of a package, where there is no other: "library/numba".
 *  P2  A function of the executable itself: "user/Mesh::upload".  One that only hands memory out is
 *      passed over for its caller: a function that others call to have memory (several callers, or
 *      "alloc" in its name).
 *  P3  A shared library: "library/avutil".
 */

#include "analyzer/model/model.h"

struct vt_allocation_sites {
	const struct vt_model *model;
	char *executable; /* file name; NULL: unknown */
	struct vt_allocation_site_caller *callers;
	uint32_t nr_callers;
	int has_callers;
};

void vt_allocation_sites_init(struct vt_allocation_sites *places, const struct vt_model *model);
void vt_allocation_sites_release(struct vt_allocation_sites *places);

/* The owner; NULL where the stacks do not tell.  free(). */
char *vt_allocation_sites_find(struct vt_allocation_sites *places, const struct vt_allocation *a);

#endif
