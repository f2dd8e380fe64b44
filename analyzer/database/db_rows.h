/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_ROWS_H
#define VT_ANALYZER_DB_ROWS_H

/*
 * Rows in memory as a table that one statement reads: a batch costs a quarter less than binding and
 * running a statement per row.  vt_stmt_step_rows of db.h is how it is used.
 */

#include <stddef.h>
#include <stdint.h>

struct sqlite3;

#define VT_DB_ROW_COLUMNS 32
struct vt_db_row {
	int64_t values[VT_DB_ROW_COLUMNS];
	uint32_t nulls; /* a bit per column */
};

/* Makes row `index` of what `argument` is; *row still has the one before. */
typedef void (*vt_db_row_fn)(const void *argument, size_t index, struct vt_db_row *row);

/* What the table holds while a statement reads it. */
struct vt_db_rows {
	size_t nr;
	vt_db_row_fn fill;
	const void *argument;
};

/* Makes the table known to the connection; `rows` stays the caller's.  Returns an SQLite code. */
int vt_db_rows_register(struct sqlite3 *raw, struct vt_db_rows *rows);

#endif
