/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_H
#define VT_ANALYZER_DB_H

/*
 * The database file: the only user of SQLite.  Makes it from the embedded schema, opens it after
 * checking that it is ours and whole, and runs prepared statements.
 *
 * Errors: functions that return int return 0 (or what they say) or -1; the text is then in
 * vt_db_error() until the next call that fails.  Every vt_stmt_* function accepts NULL (a prepare
 * that failed): binds do nothing and vt_stmt_step returns -1, so that only the step needs
 * checking.  One thread per vt_db.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/database/db_check.h"
#include "analyzer/database/db_rows.h"
#include "analyzer/base/diag.h"

struct vt_db;
struct vt_stmt;

enum vt_db_mode {
	VT_DB_READ,   /* must exist; a collector may be writing to it */
	VT_DB_CREATE, /* must not exist */
	VT_DB_WRITE,  /* must exist */
};

/*
 * Opens `path`.  *db is set only on success (0).  On -1 `diag` says why in one line: missing, no
 * permission, not ours, truncated, made by a newer version; nothing was modified.
 */
int vt_db_open(struct vt_db **db, const char *path, enum vt_db_mode mode, struct vt_diag *diag);
/* A second connection to the same file, for another thread to read. */
int vt_db_open_again(struct vt_db **again, const struct vt_db *db, struct vt_diag *diag);
/*
 * A new one that is in memory alone; `name` is what vt_db_path and messages call it.  0, or -1 with
 * `diag` filled.
 */
int vt_db_open_memory(struct vt_db **db, const char *name, struct vt_diag *diag);
/* Also frees the statements that are still there.  NULL is fine. */
void vt_db_close(struct vt_db *db);

const char *vt_db_path(const struct vt_db *db);
/* The same as a terminal may have it (printable.h). */
const char *vt_db_shown_path(const struct vt_db *db);
const char *vt_db_error(const struct vt_db *db);
/* Whether the latest error was that somebody else holds a lock. */
int vt_db_is_busy(const struct vt_db *db);
/* Fills `diag` (exit code 3) with "PATH: what SQLite said", and whether it may work later. */
void vt_db_diag(const struct vt_db *db, struct vt_diag *diag);

/* One or more statements without results. */
int vt_db_exec(struct vt_db *db, const char *sql);
/* Opens a transaction that nobody else's write can get before. */
int vt_db_begin(struct vt_db *db);
int vt_db_commit(struct vt_db *db);
void vt_db_rollback(struct vt_db *db);
/*
 * Adds `nr` rows of numbers, at most VT_DB_IMAGE_MOST_ROWS, to a table whose first column is their
 * id, ids ascending: once in a transaction, always to the same table.  fill: db_rows.h.
 */
int vt_db_append(struct vt_db *db, const char *table, size_t nr, vt_db_row_fn fill,
		 const void *argument);
/*
 * Disk: of the pages that hold something (what was deleted is used again), and of the log.
 * vt_db_limit_log: from how many bytes on the log's pages are moved to the database, at the end of
 * a transaction, and it begins anew, unless somebody still reads what was there before.
 */
uint64_t vt_db_used_bytes(struct vt_db *db);
uint64_t vt_db_log_bytes(const struct vt_db *db);
int vt_db_limit_log(struct vt_db *db, uint64_t bytes);
/* At once: all in the database, the log has no bytes.  -1: somebody reads what was before. */
int vt_db_empty_log(struct vt_db *db);
/*
 * How a writer ends: everything in one file, none beside it.  Returns -1 while a reader holds the
 * old state.
 */
int vt_db_make_single_file(struct vt_db *db);

/*
 * Prepares one statement; NULL and vt_db_error() on failure.  Freed by vt_stmt_free or vt_db_close.
 */
struct vt_stmt *vt_db_prepare(struct vt_db *db, const char *sql);
void vt_stmt_free(struct vt_stmt *stmt);

/* Parameters are numbered from 1.  Text and blobs are copied. */
void vt_stmt_bind_int(struct vt_stmt *stmt, int parameter, int64_t value);
void vt_stmt_bind_text(struct vt_stmt *stmt, int parameter, const char *text); /* NULL binds NULL */
void vt_stmt_bind_text_len(struct vt_stmt *stmt, int parameter, const char *text, int len);
void vt_stmt_bind_blob(struct vt_stmt *stmt, int parameter, const void *bytes, int len);
void vt_stmt_bind_null(struct vt_stmt *stmt, int parameter);
/* An id of the recorder's: 0 means none and binds NULL. */
void vt_stmt_bind_id(struct vt_stmt *stmt, int parameter, uint32_t id);

/*
 * 1 = a row is there, 0 = done, -1 = error.  After 0 and -1 the statement is reset, bindings stay.
 */
int vt_stmt_step(struct vt_stmt *stmt);

/*
 * The columns of the current row, numbered from 0.  Text is borrowed until the next step.
 */
int vt_stmt_is_null(struct vt_stmt *stmt, int column);
int64_t vt_stmt_int(struct vt_stmt *stmt, int column);
/* An id of another table; 0, none, where it is NULL, and where it does not fit. */
uint32_t vt_stmt_id(struct vt_stmt *stmt, int column);
const char *vt_stmt_text(struct vt_stmt *stmt, int column); /* NULL for NULL */
int vt_stmt_text_len(struct vt_stmt *stmt, int column);     /* bytes; of a blob too */
const void *vt_stmt_blob(struct vt_stmt *stmt, int column);

/* One value by one query without parameters: `fallback` where there is no row or it is NULL. */
int64_t vt_db_query_int(struct vt_db *db, const char *sql, int64_t fallback);
/* Rows of a table; -1 where they cannot be read. */
int64_t vt_db_count(struct vt_db *db, const char *table);

/*
 * The run table.  find: sets *value to a copy (free()), NULL where the key is missing.  get: where
 * an error is as good as a missing key.  Threads may read it at once while nothing else is asked.
 */
int vt_db_run_find(struct vt_db *db, const char *key, char **value);
char *vt_db_run_get(struct vt_db *db, const char *key);
int64_t vt_db_run_get_int(struct vt_db *db, const char *key, int64_t fallback);
int vt_db_run_set(struct vt_db *db, const char *key, const char *value);
int vt_db_run_set_int(struct vt_db *db, const char *key, int64_t value);

#endif
