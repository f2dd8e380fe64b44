/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_DEFENCE_H
#define VT_ANALYZER_DB_DEFENCE_H

/*
 * A database is somebody else's file: what SQLite would run for whoever reads it.  Behind db.h.
 *
 *  F1  Our tables are tables.  Triggers, virtual tables, generated columns, and views under the
 *      names of our tables are refused before anything is read.  Views under other names stay.
 *  F2  A reader does no more than what a file of that size can need: pages that refer to each other
 *      make rows without end otherwise.
 */

#include "analyzer/base/diag.h"

struct vt_db;

/* Before the first statement.  With `is_reader`, F2. */
void vt_db_defence_start(struct vt_db *db, int is_reader);
/* F1.  0, or -1: `diag` is filled, or it was SQLite's error. */
int vt_db_defence_check(struct vt_db *db, struct vt_diag *diag);

#endif
