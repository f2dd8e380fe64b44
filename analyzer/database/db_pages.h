/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_PAGES_H
#define VT_ANALYZER_DB_PAGES_H

/*
 * Rows of whole numbers from the pages of an SQLite file, without SQLite's machine.
 * https://www.sqlite.org/fileformat2.html
 *
 *  P1  Only what nobody may change: the connection's transaction holds the lock of a file without a
 *      write-ahead log, and reads by the same handle.
 *  P2  Only what is as we write it: a table with ids in order, numbers and NULL in all columns that
 *      are asked for, no row on more than one page.  Everything else, damage included, is left to
 *      SQLite, which reads the table again.
 */

#include <stdint.h>

#include "analyzer/database/db.h"

struct vt_scan {
	const char *table;
	const char *const *columns; /* the first is the table's INTEGER PRIMARY KEY */
	unsigned int nr_columns;    /* at most VT_DB_IMAGE_COLUMNS */
	int64_t after, upto;        /* ids in (after, upto], ascending */
	/*
	 * What SQLite may leave out, which costs it a tenth: a condition in columns of the table,
	 * true at least for the rows that `take` does not pass over.  NULL: nothing.
	 */
	const char *unless_passed_over;
	/* NULL reads as 0.  `row` is valid during the call. */
	void (*take)(void *context, const struct vt_db_row *row);
	/* What was taken is to be forgotten: all rows follow once more. */
	void (*restart)(void *context);
	void *context;
};

/* 0: all rows were taken; 1: SQLite has to read it, some rows may have been taken. */
int vt_db_pages_scan(struct vt_db *db, const struct vt_scan *scan);

#endif
