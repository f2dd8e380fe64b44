/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_ROWS_H
#define VT_ANALYZER_ALLOCATION_ROWS_H

/* The one long table of a recording, read by several connections at once where it is long. */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/callers.h"

/*
 * Numbers of events and of autograd's nodes have 32 bits: there are more of them than a table may
 * have rows, and a recording is as large in memory as its allocations are.  Types are such that
 * nothing is computed in 32 bits.
 */
#define VT_NEVER       ((int64_t)UINT32_MAX)
#define VT_NO_SEQUENCE ((uint64_t)UINT32_MAX)
#define VT_NO_INDEX    UINT32_MAX
/* Of one table: a moment of the timeline has 29 bits for the row. */
#define VT_MOST_ROWS   ((1u << 29) - 1)

/* Packed: there are millions of them, and most passes over them read all. */
struct __attribute__((packed, aligned(4))) vt_allocation {
	uint32_t event;
	uint32_t freed_event; /* VT_NEVER: not freed while recorded */
	int64_t time_ns;      /* since the start of the recording */
	int64_t freed_time_ns;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t requested_bytes; /* blocks: before rounding; 0: not known */
	const struct vt_caller *made;  /* never NULL, as the next */
	const struct vt_caller *freed; /* vt_caller_nobody: not freed while recorded */
	uint32_t node_sequence;        /* VT_NO_SEQUENCE where there is none */
	uint32_t forward_sequence;
	uint32_t freed_node_sequence;
	uint32_t container; /* blocks: index of the driver allocation it lies in, or VT_NO_INDEX */
	int16_t device;
	uint8_t kind;         /* enum vt_kind */
	uint8_t holds_blocks; /* a framework's allocator cut this one into blocks at some time */
};

/* A number of an event as a row has it; what only a damaged file has becomes the nearest. */
static inline uint32_t vt_allocation_event(int64_t event)
{
	return event < 0 ? 0 : event < VT_NEVER ? (uint32_t)event : (uint32_t)VT_NEVER - 1;
}

/* The same of a number of autograd's, which may go round. */
static inline uint32_t vt_allocation_sequence(int64_t sequence)
{
	return sequence < 0 ? (uint32_t)VT_NO_SEQUENCE :
			      (uint32_t)((uint64_t)sequence % VT_NO_SEQUENCE);
}

struct vt_allocation_rows {
	struct vt_allocation *items; /* free() */
	uint32_t nr;
	struct vt_callers callers; /* of the rows; vt_callers_release() */
};

/*
 * All rows, by event, with times since `start_time_ns`, inside the transaction that is open in
 * `db`.  What is in `rows` is the caller's in both cases.  Returns 0, or -1 with `diag` filled.
 */
int vt_allocation_rows_load(struct vt_db *db, int64_t start_time_ns,
			    struct vt_allocation_rows *rows, struct vt_diag *diag);

#endif
