/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_ROWS_H
#define VT_ANALYZER_IMPORT_ROWS_H

/*
 * The rows that events become.  Allocations of a batch wait in memory, so that one that is freed in
 * the same batch is written once; everything else is written at once.  A flush belongs into the
 * batch's transaction.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/util.h"
#include "analyzer/import/import_bases.h"
#include "analyzer/import/import_callers.h"
#include "common/journal_format.h"

/* How an allocation ended; event 0 = it did not. */
struct vt_row_end {
	uint64_t event;
	struct vt_event_record record;
};

struct vt_row_allocation {
	uint64_t id;
	struct vt_event_record record;
	struct vt_row_end end;
	/* When it is written. */
	struct vt_allocation_base base;
	uint64_t callers; /* the row's id */
};

/* A change to an allocation that an earlier batch wrote. */
struct vt_row_update {
	uint64_t id;
	struct vt_row_end end;
};

struct vt_import_rows {
	struct vt_db *db;
	struct vt_import_callers made, freed, callers;
	struct vt_import_bases bases;
	struct vt_stmt *parent, *written, *update, *event, *out_of_memory, *mark;
	VT_VECTOR(struct vt_row_allocation) waiting;
	VT_VECTOR(struct vt_row_update) updates;
	uint64_t first_row; /* number of the first waiting row, counted over the whole import */
};

/* A row number that is never waiting: rows read back from the database have it. */
#define VT_ROW_WRITTEN UINT64_MAX

/* 0, or -1 with vt_db_error(): what an earlier import wrote cannot be read.  Release it anyway. */
int vt_import_rows_init(struct vt_import_rows *rows, struct vt_db *db);
void vt_import_rows_release(struct vt_import_rows *rows);

/* Adds an allocation and returns its row number, which stays valid for vt_import_rows_end. */
uint64_t vt_import_rows_allocation(struct vt_import_rows *rows, uint64_t id,
				   const struct vt_event_record *record);
/* Sets or (end.event == 0) takes back how allocation `id` ended. */
void vt_import_rows_end(struct vt_import_rows *rows, uint64_t row, uint64_t id,
			const struct vt_row_end *end);

/* 0 or -1 with vt_db_error(). */
int vt_import_rows_event(struct vt_import_rows *rows, uint64_t id,
			 const struct vt_event_record *record);
int vt_import_rows_out_of_memory(struct vt_import_rows *rows, uint64_t id,
				 const struct vt_event_record *record);
int vt_import_rows_mark(struct vt_import_rows *rows, uint64_t id,
			const struct vt_mark_record *record);
int vt_import_rows_flush(struct vt_import_rows *rows);

#endif
