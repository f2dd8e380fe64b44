/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_SQLITE_STATEMENTS_H
#define VT_TESTS_SQLITE_STATEMENTS_H

/*
 * For a test that does the same with one connection a million times: compiling the statements is
 * most of its time.  sqlite3_prepare_v3(), sqlite3_exec(), sqlite3_finalize() and what makes a
 * function are those of this file in its program: a statement of the connection that is finalized
 * is kept, reset and without parameters, for who prepares the same text next.  SQLite frees a row
 * with the reset, so that who uses it later is found as before.
 */

#include <sqlite3.h>

/* One connection at a time, of one thread.  NULL: no more, which has to be before it is closed. */
void sqlite_statements_keep(sqlite3 *db);

#endif
