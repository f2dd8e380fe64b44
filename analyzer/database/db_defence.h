/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_DEFENCE_H
#define VT_ANALYZER_DB_DEFENCE_H

/*
 * A database is somebody else's file: what SQLite would run for whoever reads it.  For those who
 * open one.
 *
 *  F1  Our tables are tables.  Triggers, virtual tables, generated columns, and views under the
 *      names of our tables are refused before anything is read.  Views under other names stay.
 *  F2  A reader does no more than what a file of that size can need: pages that refer to each other
 *      make rows without end otherwise.
 */

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Of F2: how often it was asked whether a statement may go on, and may be. */
struct vt_db_defence {
	uint64_t nr_looks, most_looks;
};

/* Before the first statement.  With `is_reader`, F2: `defence` lives as long as the connection. */
void vt_db_defence_start(struct vt_db_defence *defence, sqlite3 *raw, const char *path,
			 int is_reader);
/*
 * F1, for the tables of a schema, each of which begins a line of it, and for the view that commands
 * read, which is to be the schema's.  Returns 0; 1: `wrong` says
 * what is, in `size` bytes; -1: SQLite's error.
 */
int vt_db_defence_check(sqlite3 *raw, const char *schema, char *wrong, size_t size);
/* The statement that makes this view, and its length without the semicolon; NULL: there is none. */
const char *vt_db_defence_view(const char *schema, const char *name, size_t *len);
/* What SQLite's latest error says, or that it was F2. */
const char *vt_db_defence_error(sqlite3 *raw);

#endif
