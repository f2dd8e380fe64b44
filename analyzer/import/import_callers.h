/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_CALLERS_H
#define VT_ANALYZER_IMPORT_CALLERS_H

/*
 * Who made or freed memory, written once: the rows of allocation_made and allocation_freed, and
 * those of allocation_callers, which are pairs of these.
 *
 *  C1  What is remembered is bounded: who comes again after being forgotten gets another row.
 */

#include <stdint.h>

#include "analyzer/base/interned.h"
#include "analyzer/database/db.h"

#define VT_IMPORT_CALLERS_COLUMNS 11

/* One of the tables.  Values are as the columns after the id; 0 is NULL from `nr_required` on. */
struct vt_import_callers {
	struct vt_stmt *insert;
	unsigned int nr_columns, nr_required;
	struct vt_interned known;
	int64_t last_id;
};

/* 0, or -1 with vt_db_error(): what an earlier import wrote cannot be read.  Release it anyway. */
int vt_import_callers_init(struct vt_import_callers *callers, struct vt_db *db, const char *table,
			   unsigned int nr_columns, unsigned int nr_required);
void vt_import_callers_release(struct vt_import_callers *callers);

/* The id of the row with these values, in the transaction that is open; -1 with vt_db_error(). */
int64_t vt_import_callers_id(struct vt_import_callers *callers,
			     const int64_t values[VT_IMPORT_CALLERS_COLUMNS]);

#endif
