/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GENERATED_CALLS_H
#define VT_ANALYZER_GENERATED_CALLS_H

/*
 * Kernels of generated code among the operators that were observed.  Each time that a generated
 * file ran its buffers are allocations made at its lines, so its text (generated_code.h) says which
 * allocations a kernel read and wrote.
 */

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/frames.h"
#include "analyzer/model/operator_calls.h"

/* Before the names of such calls; after it what the kernel is made of: "inductor::addmm relu". */
#define VT_GENERATED_PREFIX "inductor::"

/*
 * Adds to `calls` the kernels of all runs of generated code in which operators were observed, in
 * the order in which they ran, inside the transaction that is open in `db`.  Their names become
 * new rows of `strings`.  Returns 0, or -1 with `diag` filled.
 */
int vt_generated_calls_add(struct vt_operator_calls *calls, struct vt_db *db,
			   const struct vt_frames *frames, struct vt_string_table *strings,
			   const struct vt_allocation *allocations, uint32_t nr_allocations,
			   struct vt_diag *diag);

#endif
