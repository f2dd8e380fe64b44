/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_BASES_H
#define VT_ANALYZER_IMPORT_BASES_H

/*
 * What rows of allocations are written as differences from: the rows of allocation_base, and those
 * of allocator_reserved.  Rows come in the order of their ids.
 */

#include <stdint.h>

#include "analyzer/base/map.h"
#include "analyzer/database/allocation_base.h"
#include "analyzer/database/db.h"
#include "common/journal_format.h"

struct vt_import_bases {
	struct vt_stmt *insert_base, *insert_reserved;
	struct vt_allocation_base last;
	struct vt_map reserved; /* bytes by device */
	/* Of the latest block, which are near those of the next. */
	uint64_t address, sequence, allocated_bytes;
	int has_base, has_block;
};

/* 0, or -1 with vt_db_error(): what an earlier import wrote cannot be read.  Release it anyway. */
int vt_import_bases_init(struct vt_import_bases *bases, struct vt_db *db);
void vt_import_bases_release(struct vt_import_bases *bases);

/*
 * The base of the allocation's row, in the transaction that is open, valid until the next call;
 * NULL with vt_db_error().
 */
const struct vt_allocation_base *vt_import_bases_add(struct vt_import_bases *bases, uint64_t id,
						     const struct vt_event_record *record);

#endif
