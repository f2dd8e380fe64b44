/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ALLOCATION_ROWS_H
#define VT_ANALYZER_ALLOCATION_ROWS_H

/* The one long table of a recording, read by several connections at once where it is long. */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/allocation_times.h"
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

/* No driver allocation; an index of one has 29 bits. */
#define VT_NO_CONTAINER VT_MOST_ROWS

/*
 * What an allocation has in common with others: a program that runs in steps repeats it, so it is
 * kept once.
 */
struct vt_allocation_common {
	uint64_t size_bytes;
	uint64_t requested_bytes;      /* blocks: before rounding; 0: not known */
	const struct vt_caller *made;  /* never NULL, as the next */
	const struct vt_caller *freed; /* vt_caller_nobody: not freed while recorded */
	int32_t device;
	uint32_t kind; /* enum vt_kind */
	/* For tables by it: below vt_allocation_rows.nr_commons; two that are equal may differ. */
	uint32_t number;
};

/* There are millions of them, and most passes over them read all. */
struct vt_allocation {
	uint32_t event;
	uint32_t freed_event; /* VT_NEVER: not freed while recorded */
	uint64_t address;
	const struct vt_allocation_common *common; /* never NULL */
	uint32_t node_sequence;                    /* VT_NO_SEQUENCE where there is none */
	uint32_t forward_sequence;
	uint32_t freed_node_sequence;
	uint32_t container : 29;   /* blocks: index of the driver allocation it lies in */
	uint32_t holds_blocks : 1; /* a framework's allocator cut this one into blocks */
};
_Static_assert(sizeof(struct vt_allocation) == 40, "struct vt_allocation has holes");

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
	struct vt_allocation_times times; /* of the rows; vt_allocation_times_release() */
	struct vt_callers callers;        /* of the rows; vt_callers_release() */
	struct vt_interned commons;       /* of the rows; vt_interned_release() */
	uint32_t nr_commons;
};

enum vt_allocation_choice {
	VT_ALLOCATIONS_ALL,
	VT_ALLOCATIONS_DRIVER, /* without a framework's blocks */
};

/*
 * The rows, by event, with times since `start_time_ns`, inside the transaction that is open in
 * `db`.  What is in `rows` is the caller's in both cases.  Returns 0, or -1 with `diag` filled.
 */
int vt_allocation_rows_load(struct vt_db *db, enum vt_allocation_choice choice,
			    int64_t start_time_ns, struct vt_allocation_rows *rows,
			    struct vt_diag *diag);

#endif
