/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LOSSES_H
#define VT_ANALYZER_LOSSES_H

/* What a recording lacks of its run, whoever reads it. */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/model/describe.h"

/* A sentence each, none where the recording is whole; vt_lines_free(). */
struct vt_lines vt_losses_find(struct vt_db *db);

/*
 * How many events, records and slots of the journal are known to be missing; at least 1 where the
 * recording stopped before the program did.  0: it is whole.
 */
uint64_t vt_losses_count(struct vt_db *db);

/* Whether all of that are events that did not fit, so that it is how many. */
int vt_losses_are_counted(struct vt_db *db);

/*
 * Allocations from before this event that are not known to be freed may be: events were lost there.
 * 0: none were, or by what PyTorch's allocator says all of its blocks are alive.
 */
int64_t vt_losses_doubted_before(struct vt_db *db);

/* Whether the journal's end is missing: what the program did last, however it ended. */
int vt_losses_is_cut(struct vt_db *db);

#endif
