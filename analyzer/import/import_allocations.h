/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_ALLOCATIONS_H
#define VT_ANALYZER_IMPORT_ALLOCATIONS_H

/*
 * Pairs allocations with their frees, in journal order.
 *
 *  A1  An address is looked up among blocks, or among everything the driver gives out (whatever
 *      function frees it), or among vmm handles: a block and its segment may start at the same
 *      address.
 *  A2  An allocation at an address that is still live ends the old one at this event and is
 *      counted: its free was lost.
 *  A3  A free of an unknown address becomes an event row and is counted.
 *  A4  free_failed takes back the thread's last free; both stay visible as event rows.
 *  A5  vmm memory ends with its last reference or mapping.
 *  A6  A context that is destroyed ends what was allocated in it; a refused one takes that back.
 *  A7  Memory of other processes that is opened again is the same memory; closed as often, it is
 *      gone.
 *  A8  Memory of a graph's nodes ends with the graph and all executables made of it, whatever frees
 *      it between two runs.
 *  A9  What pools hold beyond their allocations counts as used (pool_lives.h).
 *  A10 Where events were lost, what lay where later ones put something else, or in a segment that
 *      was freed among them or is freed or unmapped later, was freed among them: it ends there.
 *  A11 All of this state can be rebuilt from the database (resume), so that an import may stop
 *      anywhere.
 */

#include <stdint.h>

#include "analyzer/import/graph_lives.h"
#include "analyzer/import/import_rows.h"
#include "analyzer/import/peak.h"
#include "analyzer/import/pool_lives.h"
#include "analyzer/import/suspects.h"
#include "analyzer/import/vmm.h"

struct vt_open_allocation {
	uint64_t id; /* 0: an unused place */
	uint64_t row;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t parent; /* handle of what it goes with, 0 = unknown or nothing */
	int32_t device;
	uint32_t kind;
};

VT_VECTOR_DECLARE(vt_open_allocations, struct vt_open_allocation);

/* A thread's last free, release or unmap: what a free_failed would take back. */
struct vt_last_free {
	uint64_t event; /* 0 = none, or one of an unknown address */
	struct vt_event_record record;
	struct vt_open_allocations ended;
	struct vt_vmm_mappings removed;
};

struct vt_import_allocations {
	struct vt_import_rows *rows; /* borrowed */
	struct vt_peak_totals *peak;        /* borrowed */
	struct vt_open_allocations open;
	VT_VECTOR(uint64_t) unused; /* places in `open` */
	struct vt_map places;       /* {class, address} -> place in `open` */
	struct vt_vmm vmm;
	struct vt_graph_lives graphs;
	struct vt_pool_lives pools;
	struct vt_vmm ipc; /* how often each pointer was opened: references without mappings */
	VT_VECTOR(struct vt_last_free) last_frees;
	struct vt_map last_free_places; /* thread -> place in last_frees */
	struct vt_event_record loss; /* the last one */
	uint64_t loss_event;	     /* 0: none */
	struct vt_suspects suspects; /* of it */
	uint64_t nr_reused;
	uint64_t nr_unknown_frees;
	int is_replaying; /* rebuilding the state: no rows are written */
};

void vt_import_allocations_init(struct vt_import_allocations *a, struct vt_import_rows *rows,
				struct vt_peak_totals *peak);
void vt_import_allocations_release(struct vt_import_allocations *a);

/* Rebuilds the state from the rows of an earlier import, totals in `peak` included.  0 or -1. */
int vt_import_allocations_resume(struct vt_import_allocations *a);

/* For resume: an allocation that is live; this thread's last free, emptied and set to this one. */
void vt_import_allocations_open(struct vt_import_allocations *a,
				const struct vt_open_allocation *what);
struct vt_last_free *vt_import_allocations_begin_free(struct vt_import_allocations *a,
						      uint64_t event,
						      const struct vt_event_record *record);
/* The live one at that address among those that a kind can be confused with (A1), or NULL. */
const struct vt_open_allocation *vt_import_allocations_find(const struct vt_import_allocations *a,
							     unsigned int kind, uint64_t address);
/* Ends that one at `event`.  Returns 0 where there is none; *what is a copy. */
int vt_import_allocations_end(struct vt_import_allocations *a, unsigned int kind, uint64_t address,
			      uint64_t event, const struct vt_event_record *record,
			      struct vt_open_allocation *what);
/* For resume: what an event of a pool itself does to what pools hold. */
void vt_import_allocations_note_pool(struct vt_import_allocations *a,
				     const struct vt_event_record *record);
/* For resume: what the event does to the state, without a new peak. */
int vt_import_allocations_replay(struct vt_import_allocations *a, uint64_t event,
				 const struct vt_event_record *record);

/* For the events, A10 (import_allocations_losses.c). */
/* Events were lost before this one; all that is live now is to be known by then. */
void vt_import_losses_note(struct vt_import_allocations *a, uint64_t event,
			   const struct vt_event_record *record);
/* Before the allocation is opened: ends at the loss what lay where it lies now. */
void vt_import_losses_take_alloc(struct vt_import_allocations *a,
				 const struct vt_event_record *record);
/*
 * `what` has ended, or the range of `record` was mapped or unmapped: ends at the loss the blocks in
 * it, which are appended to `ended`, as a failed free brings them back.
 */
void vt_import_losses_take_end(struct vt_import_allocations *a,
			       const struct vt_open_allocation *what,
			       struct vt_open_allocations *ended);
void vt_import_losses_take_mapping(struct vt_import_allocations *a,
				 const struct vt_event_record *record,
				 struct vt_open_allocations *ended);

/* For resume, last: the blocks that went with what the threads' last frees ended.  0 or -1. */
int vt_import_losses_load_ended(struct vt_import_allocations *a);

/* One event record.  0 or -1 with vt_db_error(). */
int vt_import_allocations_event(struct vt_import_allocations *a, uint64_t event,
				const struct vt_event_record *record);

#endif
