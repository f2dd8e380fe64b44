/* SPDX-License-Identifier: MIT */
/* Prepared statements: parameters in, columns out. */
#include "analyzer/database/db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/database/db_connection.h"
#include "analyzer/base/util.h"

struct vt_stmt {
	sqlite3_stmt *raw;
	struct vt_db *db;
	struct vt_stmt *next, **link;
};

int vt_db_fail(struct vt_db *db)
{
	int code = sqlite3_errcode(db->raw) & 0xff; /* without the extension */

	db->is_busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
	snprintf(db->error, sizeof(db->error), "%s", vt_db_defence_error(db->raw));
	return -1;
}

struct vt_stmt *vt_db_prepare(struct vt_db *db, const char *sql)
{
	struct vt_stmt *stmt;
	sqlite3_stmt *raw;

	if (sqlite3_prepare_v3(db->raw, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, NULL) !=
	    SQLITE_OK) {
		vt_db_fail(db);
		return NULL;
	}
	stmt = vt_xcalloc(1, sizeof(*stmt));
	stmt->raw = raw;
	stmt->db = db;
	stmt->next = db->statements;
	stmt->link = &db->statements;
	if (stmt->next)
		stmt->next->link = &stmt->next;
	db->statements = stmt;
	return stmt;
}

void vt_stmt_free(struct vt_stmt *stmt)
{
	if (!stmt)
		return;
	*stmt->link = stmt->next;
	if (stmt->next)
		stmt->next->link = stmt->link;
	sqlite3_finalize(stmt->raw);
	free(stmt);
}

void vt_stmt_bind_int(struct vt_stmt *stmt, int parameter, int64_t value)
{
	if (stmt)
		sqlite3_bind_int64(stmt->raw, parameter, value);
}

void vt_stmt_bind_text(struct vt_stmt *stmt, int parameter, const char *text)
{
	vt_stmt_bind_text_len(stmt, parameter, text, -1);
}

void vt_stmt_bind_text_len(struct vt_stmt *stmt, int parameter, const char *text, int len)
{
	if (stmt)
		sqlite3_bind_text(stmt->raw, parameter, text, len, SQLITE_TRANSIENT);
}

void vt_stmt_bind_blob(struct vt_stmt *stmt, int parameter, const void *bytes, int len)
{
	/* A NULL pointer would bind NULL, not an empty blob. */
	if (stmt)
		sqlite3_bind_blob(stmt->raw, parameter, len ? bytes : "", len, SQLITE_TRANSIENT);
}

void vt_stmt_bind_null(struct vt_stmt *stmt, int parameter)
{
	if (stmt)
		sqlite3_bind_null(stmt->raw, parameter);
}

void vt_stmt_bind_id(struct vt_stmt *stmt, int parameter, uint32_t id)
{
	if (id)
		vt_stmt_bind_int(stmt, parameter, id);
	else
		vt_stmt_bind_null(stmt, parameter);
}

int vt_stmt_step(struct vt_stmt *stmt)
{
	int rc;

	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt->raw);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		vt_db_fail(stmt->db);
	sqlite3_reset(stmt->raw);
	return rc == SQLITE_DONE ? 0 : -1;
}

int vt_stmt_is_null(struct vt_stmt *stmt, int column)
{
	return !stmt || sqlite3_column_type(stmt->raw, column) == SQLITE_NULL;
}

int64_t vt_stmt_int(struct vt_stmt *stmt, int column)
{
	return stmt ? sqlite3_column_int64(stmt->raw, column) : 0;
}

uint32_t vt_stmt_id(struct vt_stmt *stmt, int column)
{
	int64_t id = vt_stmt_int(stmt, column);

	return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

const char *vt_stmt_text(struct vt_stmt *stmt, int column)
{
	return stmt ? (const char *)sqlite3_column_text(stmt->raw, column) : NULL;
}

int vt_stmt_text_len(struct vt_stmt *stmt, int column)
{
	return stmt ? sqlite3_column_bytes(stmt->raw, column) : 0;
}

const void *vt_stmt_blob(struct vt_stmt *stmt, int column)
{
	return stmt ? sqlite3_column_blob(stmt->raw, column) : NULL;
}

int64_t vt_db_query_int(struct vt_db *db, const char *sql, int64_t fallback)
{
	struct vt_stmt *stmt = vt_db_prepare(db, sql);

	if (vt_stmt_step(stmt) == 1 && !vt_stmt_is_null(stmt, 0))
		fallback = vt_stmt_int(stmt, 0);
	vt_stmt_free(stmt);
	return fallback;
}

int64_t vt_db_count(struct vt_db *db, const char *table)
{
	char sql[128];

	/* SQLite does count(*) in one instruction, in which nothing ends it: db_defence.h, F2. */
	snprintf(sql, sizeof(sql), "SELECT count(1) FROM %s", table);
	return vt_db_query_int(db, sql, -1);
}
