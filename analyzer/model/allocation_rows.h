/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_ROWS_H
#define VT_ANALYZER_ALLOCATION_ROWS_H

/* The one long table of a recording, read by several connections at once where it is long. */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"

#define VT_NEVER       INT64_MAX
#define VT_NO_SEQUENCE UINT64_MAX
#define VT_NO_INDEX    UINT32_MAX
/* Of one table: a moment of the timeline has 29 bits for the row. */
#define VT_MOST_ROWS   ((1u << 29) - 1)

struct vt_allocation {
	int64_t event;
	int64_t freed_event; /* VT_NEVER: not freed while recorded */
	int64_t time_ns;     /* since the start of the recording */
	int64_t freed_time_ns;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t requested_bytes; /* blocks: before rounding; 0: not known */
	uint64_t stream;          /* blocks: PyTorch's number of it; 0: default, or not known */
	uint64_t node_sequence;   /* VT_NO_SEQUENCE where there is none */
	uint64_t forward_sequence;
	uint64_t freed_node_sequence;
	uint32_t thread;
	uint32_t freed_thread;
	uint32_t native_stack;
	uint32_t python_stack;
	uint32_t freed_native_stack;
	uint32_t freed_python_stack;
	uint32_t forward_python_stack; /* of the call that created node_sequence; 0: unknown */
	uint32_t freed_forward_python_stack;
	uint32_t scope;
	uint32_t freed_scope;
	uint32_t node_class;
	uint32_t freed_node_class;
	uint32_t container; /* blocks: index of the driver allocation it lies in, or VT_NO_INDEX */
	int16_t device;
	uint8_t kind;         /* enum vt_kind */
	uint8_t holds_blocks; /* a framework's allocator cut this one into blocks at some time */
};

/*
 * All rows, by event, with times since `start_time_ns`, inside the transaction that is open in
 * `db`.  The caller frees `rows`, in both cases.  Returns 0, or -1 with `diag` filled.
 */
int vt_allocation_rows_load(struct vt_db *db, int64_t start_time_ns, struct vt_allocation **rows,
			    uint32_t *nr_rows, struct vt_diag *diag);

#endif
