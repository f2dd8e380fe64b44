/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_ROWS_H
#define VT_ANALYZER_ALLOCATION_ROWS_H

/* The one long table of a recording, read by several connections at once where it is long. */

#include "analyzer/base/diag.h"
#include "analyzer/model/model.h"

/*
 * Fills the model's allocations from its database, inside the transaction that is open there.
 * Returns 0, or -1 with `diag` filled.
 */
int vt_allocation_rows_load(struct vt_model *model, struct vt_diag *diag);

#endif
