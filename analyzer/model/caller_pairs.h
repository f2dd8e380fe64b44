/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CALLER_PAIRS_H
#define VT_ANALYZER_CALLER_PAIRS_H

/* The table allocation_callers in memory, with whom it names: read by all parts at once. */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db.h"
#include "analyzer/model/callers.h"

struct vt_caller_pair {
	int64_t id;
	const struct vt_caller *made;  /* never NULL, as the next */
	const struct vt_caller *freed; /* vt_caller_nobody: not freed while recorded */
	int32_t device;                /* of what was made, as the next */
	uint32_t kind;                 /* enum vt_kind */
};

VT_VECTOR_DECLARE(vt_caller_pairs, struct vt_caller_pair);

/*
 * Adds the callers to `callers`.  The pairs are the caller's: vt_vector_release().  0, or -1 with
 * `diag` filled.
 */
int vt_caller_pairs_load(struct vt_caller_pairs *pairs, struct vt_db *db,
			 struct vt_callers *callers, struct vt_diag *diag);
/* The pair with that id; nobody's where a damaged file has none. */
const struct vt_caller_pair *vt_caller_pairs_find(const struct vt_caller_pairs *pairs, int64_t id);

#endif
