/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OPERATOR_CALLS_H
#define VT_ANALYZER_OPERATOR_CALLS_H

/*
 * What PyTorch's operators read and wrote, in the stretches of a run that were observed.  Facts
 * only: an operator that returns what it was given may have changed it, or be a view.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/allocation_rows.h"
#include "analyzer/model/string_table.h"

/* A device tensor that an operator was given or returned. */
struct vt_call_tensor {
	uint32_t allocation; /* index, or VT_NO_INDEX */
	uint16_t position;   /* which argument or result */
	uint16_t element;    /* index in a list of tensors */
	uint8_t is_output;
};

struct vt_operator_call {
	int64_t event;     /* the last one before it began */
	int64_t end_event; /* the last one before it ended; VT_NEVER: not recorded */
	uint64_t sequence; /* of the first autograd node made inside it, or VT_NO_SEQUENCE */
	uint64_t node_sequence; /* of the node that it runs in */
	uint32_t thread;
	uint32_t parent; /* index of the operator that called it, or VT_NO_INDEX */
	uint32_t name;   /* string ids: of equal texts the first */
	uint32_t node_class; /* 0: it does not run in a backward node */
	uint32_t python_stack;
	uint32_t forward_python_stack;
	uint32_t first_tensor; /* its tensors, inputs before results, each in order */
	uint32_t nr_tensors;
};

struct vt_operator_calls {
	struct vt_operator_call *items; /* in the order of their beginning */
	struct vt_call_tensor *tensors;
	uint32_t nr;
	uint32_t nr_tensors;
};

/*
 * All rows, inside the transaction that is open in `db`; a recording of an older version has none.
 * Allocations are indices of `allocations`, of which there are `nr_allocations`, by event.  Returns
 * 0, or -1 with `diag` filled; vt_operator_calls_release is to be called in both cases.
 */
int vt_operator_calls_load(struct vt_operator_calls *calls, struct vt_db *db,
		      const struct vt_string_table *strings,
		      const struct vt_allocation *allocations, uint32_t nr_allocations,
		      struct vt_diag *diag);
void vt_operator_calls_release(struct vt_operator_calls *calls);

#endif
