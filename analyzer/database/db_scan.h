/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_SCAN_H
#define VT_ANALYZER_DB_SCAN_H

/*
 * All rows of a query at once, each given to a function: for the one table that has millions.
 *
 * SQLite calls an aggregate function with all columns of a row.  A prepared statement that is
 * stepped takes half as long again for the same rows (4.2 and 2.7 s for 5 million with 12 columns):
 * each step, and each column of it, is a call of its own with its own checks.
 */

#include <stdint.h>

#include "analyzer/database/db.h"

/* The current row; valid during the call.  Columns are numbered from 0. */
struct vt_scan_row;
int64_t vt_scan_int(const struct vt_scan_row *row, int column); /* 0 for NULL */
int vt_scan_is_null(const struct vt_scan_row *row, int column);

typedef void (*vt_scan_fn)(void *context, const struct vt_scan_row *row);

/*
 * `columns` is a list for SELECT, `from` what follows them, with ?1, ?2 for `bounds`.  Rows come in
 * the order in which SQLite finds them: by rowid where `from` is one table and "NOT INDEXED".
 * Returns 0, or -1 with vt_db_error().
 */
int vt_db_scan(struct vt_db *db, const char *columns, const char *from, const int64_t bounds[2],
	       vt_scan_fn take, void *context);

#endif
