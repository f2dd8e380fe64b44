/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_ROWS_H
#define VT_ANALYZER_DB_ROWS_H

/*
 * Many rows of numbers for one table at once.  They are laid out in memory as a table of the same
 * definition (db_image.h), which SQLite then copies record by record, without looking at columns.
 * vt_db_append of db.h is how it is used.
 *
 * Instead of a prepared INSERT per row: a row of `allocation` takes less than half of the time that
 * a statement with its 31 values takes (1.2 and 2.6 us on a busy machine), and the importer has to
 * keep up with a million events a second (tests/bench/recorder importing).
 */

#include <stddef.h>

#include "analyzer/database/db_image.h"

struct sqlite3;
struct vt_db_rows;

/* Makes row `index` of what `argument` is; *row still has the one before. */
typedef void (*vt_db_row_fn)(const void *argument, size_t index, struct vt_db_row *row);

/* For a table whose first column is its id.  NULL with SQLite's error in `raw`. */
struct vt_db_rows *vt_db_rows_open(struct sqlite3 *raw, const char *table);
/* Before the connection is closed: the rows of the last transaction must not be needed. */
void vt_db_rows_close(struct vt_db_rows *rows);

/* Once in a transaction, `nr` at most VT_DB_IMAGE_MOST_ROWS.  Returns an SQLite code. */
int vt_db_rows_write(struct vt_db_rows *rows, size_t nr, vt_db_row_fn fill, const void *argument);

#endif
