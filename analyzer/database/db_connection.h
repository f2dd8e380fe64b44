/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_CONNECTION_H
#define VT_ANALYZER_DB_CONNECTION_H

/*
 * What the files behind db.h share: the open connection.  For analyzer/database alone, which is
 * all that may include sqlite3.h.
 */

#include <pthread.h>
#include <sqlite3.h>

#include "analyzer/database/db_defence.h"

struct vt_db_rows;
struct vt_stmt;

struct vt_db {
	sqlite3 *raw;
	char *path, *shown_path;
	struct vt_stmt *statements; /* all that are not freed yet */
	struct vt_db_rows *rows;    /* NULL until something is appended */
	pthread_mutex_t run_lock;   /* of those who read the run table */
	char error[256];
	int is_busy; /* what `error` is about: somebody else's lock */
	struct vt_db_defence defence;
};

/* Keeps what SQLite says of its latest error as ours.  Returns -1. */
int vt_db_fail(struct vt_db *db);

#endif
