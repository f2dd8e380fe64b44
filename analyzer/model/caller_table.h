/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CALLER_TABLE_H
#define VT_ANALYZER_CALLER_TABLE_H

/* The tables that allocations name their callers by, in memory: read by all parts at once. */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/callers.h"

struct vt_caller_row {
	int64_t id;
	const struct vt_caller *caller; /* never NULL */
	int32_t device;                 /* of what was made, as the next */
	uint32_t kind;                  /* enum vt_kind */
};

struct vt_caller_table {
	struct vt_caller_row *items; /* by id; free() */
	size_t nr;
};

/* Each adds its callers to `callers`.  The table is the caller's; 0, or -1 with `diag` filled. */
int vt_caller_table_load_made(struct vt_caller_table *table, struct vt_db *db,
			      struct vt_callers *callers, struct vt_diag *diag);
int vt_caller_table_load_freed(struct vt_caller_table *table, struct vt_db *db,
			       struct vt_callers *callers, struct vt_diag *diag);
/* The row with that id; nobody's where a damaged file has none. */
const struct vt_caller_row *vt_caller_table_find(const struct vt_caller_table *table, int64_t id);

#endif
