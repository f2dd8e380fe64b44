/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_BASES_H
#define VT_ANALYZER_ALLOCATION_BASES_H

/* The table allocation_base in memory: read by all parts at once. */

#include <stddef.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/util.h"
#include "analyzer/database/allocation_base.h"
#include "analyzer/database/db.h"

VT_VECTOR_DECLARE(vt_allocation_bases, struct vt_allocation_base);

/* The table is the caller's: vt_vector_release().  0, or -1 with `diag` filled. */
int vt_allocation_bases_load(struct vt_allocation_bases *bases, struct vt_db *db,
			     struct vt_diag *diag);
/* The base with that id; zeros where there is none, as in files of older schemas. */
const struct vt_allocation_base *vt_allocation_bases_find(const struct vt_allocation_bases *bases,
							  int64_t id);

#endif
